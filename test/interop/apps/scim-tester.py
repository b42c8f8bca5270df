"""Runs scim2-tester against a service: its address and a key are the arguments. Prints what is not as RFC 7643 and 7644 say."""

import json
import sys

import httpx2
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import check_server

url, key = sys.argv[1:]
client = httpx2.Client(base_url=url + "/scim/v2", headers={"Authorization": "Bearer " + key})
scim = SyncSCIMClient(client)
scim.discover()
results = list(check_server(scim))
faults = [
    f"{result.status.name} {result.title}: {(result.reason or '')[:400]}"
    for result in results
    if result.status.name not in ("SUCCESS", "COMPLIANT", "SKIPPED")
]
print(json.dumps({"checked": len(results), "faults": faults}))
