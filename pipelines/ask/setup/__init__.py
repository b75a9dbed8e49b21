"""Setting up: `earshot init` asks and checks before anything is written, `earshot doctor` checks it again later."""
