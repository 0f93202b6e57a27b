"""A client of the workflows on Temporal's Python SDK without any generated code: dicts go in, dicts come
out. A line of JSON a case, which tests/it/interop.rs compares.

    python plain.py ADDRESS NAMESPACE SITE
"""

import asyncio
import dataclasses
import json
import sys

import temporalio.converter as converter
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from temporalio.exceptions import WorkflowAlreadyStartedError

FLEET_DEVICE = SearchAttributeKey.for_keyword("FleetDevice")


class ProtobufAsDict(converter.EncodingPayloadConverter):
    """Reads `json/protobuf` as the dict that it is. The SDK's own converter wants the generated class,
    and without it reads neither a result nor a failure ("Unknown Protobuf type")."""

    encoding = "json/protobuf"

    def to_payload(self, value):
        return None

    def from_payload(self, payload, type_hint=None):
        return json.loads(payload.data)


class Plain(converter.CompositePayloadConverter):
    def __init__(self):
        super().__init__(
            converter.BinaryNullPayloadConverter(),
            converter.BinaryPlainPayloadConverter(),
            ProtobufAsDict(),
            converter.JSONPlainPayloadConverter(),
        )


def say(case: str, **values) -> None:
    print(json.dumps({"case": case, **values}), flush=True)


def adopt(site: str, device: str, **more) -> dict:
    words = {"requestId": f"plain-{device}", "deviceId": device, "actor": "ada", "reason": "a test"}
    return {"site": site, **words, **more}


class Site:
    def __init__(self, client: Client, site: str):
        self.client, self.site = client, site

    async def start(self, request, device: str) -> WorkflowHandle:
        """The one id for all verbs of a device is its lock. FleetDevice may be left out: it is there
        to find the device's runs in Temporal's lists."""
        return await self.client.start_workflow(
            "AdoptDevice",
            request,
            id=f"slurm/{self.site}/{device}",
            task_queue=f"slurm-{self.site}",
            search_attributes=TypedSearchAttributes([SearchAttributePair(FLEET_DEVICE, device)]),
        )


async def until_step(handle: WorkflowHandle, step: str) -> dict:
    """The progress of a running adoption that waits for something in this step: the heartbeat of its
    pending activity. Between entering a step and the first look it waits for nothing yet."""
    while True:
        description = await handle.describe()
        for pending in description.raw_description.pending_activities:
            beats = await description.data_converter.decode_wrapper(pending.heartbeat_details)
            if beats and beats[0]["step"] == step and beats[0].get("waitingFor"):
                return beats[0]
        await asyncio.sleep(0.1)


async def failure_of(handle: WorkflowHandle) -> dict:
    try:
        return {"result": await handle.result()}
    except WorkflowFailureError as failed:
        error = failed.cause
        return {
            "type": error.type,
            "message": error.message,
            "non_retryable": error.non_retryable,
            "details": list(error.details),
        }


async def main(address: str, namespace: str, name: str) -> None:
    plain = dataclasses.replace(converter.default(), payload_converter_class=Plain)
    site = Site(await Client.connect(address, namespace=namespace, data_converter=plain), name)

    request = adopt(name, "plain-1", dryRun=True)
    say("dry run", result=await (await site.start(request, "plain-1")).result())

    handle = await site.start(adopt(name, "plain-1"), "plain-1")
    say("progress", progress=await until_step(handle, "wait_active"))
    try:
        await site.start(adopt(name, "plain-1", requestId="another"), "plain-1")
    except WorkflowAlreadyStartedError as refused:
        say("busy", workflow_id=refused.workflow_id)
    say("adopted", result=await handle.result())

    say("no flavor", **await failure_of(await site.start(adopt(name, "no-flavor"), "no-flavor")))
    request = adopt(name, "plain-2", dryRun="yes")
    say("mistyped", **await failure_of(await site.start(request, "plain-2")))
    request = adopt(name, "plain-2", dryRun=True, newer_field=7)
    say("once more", result=await (await site.start(request, "plain-2")).result())

    runs = []
    while len(runs) < 2:
        await asyncio.sleep(0.1)  # Temporal's lists follow its histories
        runs = [run async for run in site.client.list_workflows("FleetDevice = 'plain-1'")]
    say("found by device", ids=[run.id for run in runs])

    default = await Client.connect(address, namespace=namespace)
    try:
        await default.get_workflow_handle(f"slurm/{name}/no-flavor").result()
    except RuntimeError as unread:
        say("without the converter", error=str(unread.__cause__))


asyncio.run(main(*sys.argv[1:]))
