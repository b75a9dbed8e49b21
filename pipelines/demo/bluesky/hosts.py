"""The services behind the AppView: a PDS, which keeps an account's records, and the directory of DIDs."""

from pipelines.demo.bluesky.api import access as asked
from pipelines.demo.bluesky.api.access import Refused, refused
from pipelines.demo.bluesky.api.service import Service
from pipelines.demo.bluesky.names import Json, cid_of
from pipelines.demo.bluesky.state import POST, REPOST, Account, Post, Repost
from pipelines.demo.server.web import Request, Response, page_size

LIST_RECORDS = "com.atproto.repo.listRecords"


def list_records(app: Service, request: Request, host: str) -> Json:
    """By record key, newest first unless `reverse`; the cursor is the last key, given until a page is empty.

    Records as written, also those that no AppView shows. An account that is away is not found.
    """
    name, collection, limit = asked.actor(request, "repo"), asked.text(request, "collection"), asked.limit(request)
    account, ascending = app.world.found(name), asked.flag(request, "reverse")
    if account is None or not account.is_active or account.pds != host:
        raise refused(f"Could not find repo: {name}")
    found: dict[str, Post | Repost] = {}
    if collection in {POST, REPOST}:
        found.update(account.posts if collection == POST else account.reposts)
    cursor, keys = request.query.get("cursor"), sorted(found, reverse=not ascending)
    if cursor:
        keys = [key for key in keys if (key > cursor if ascending else key < cursor)]
    page = [found[key] for key in keys[: page_size(limit, app.switches)]]
    records = [{"uri": row.uri, "cid": row.cid, "value": row.record} for row in page]
    return {"records": records} | ({"cursor": page[-1].rkey} if page else {})


def did_document(account: Account | None, did: str, endpoint: str) -> Response:
    """The directory knows accounts that are away, and says that a deleted one was there."""
    if account is None:
        raise Refused(Response(404, {"message": f"DID not registered: {did}"}))
    if account.status == "deleted":
        raise Refused(Response(410, {"message": f"DID not available: {did}"}))
    document = {
        "@context": ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/multikey/v1"],
        "id": account.did,
        "alsoKnownAs": [f"at://{account.handle}"],
        "verificationMethod": [
            {
                "id": f"{account.did}#atproto",
                "type": "Multikey",
                "controller": account.did,
                "publicKeyMultibase": "zQ3sh" + cid_of(account.did)[11:55],
            }
        ],
        "service": [
            {"id": "#atproto_pds", "type": "AtprotoPersonalDataServer", "serviceEndpoint": endpoint},
        ],
    }
    return Response(200, document, {"content-type": "application/did+ld+json; charset=utf-8"})
