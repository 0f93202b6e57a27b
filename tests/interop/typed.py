"""A client of the workflows on Temporal's Python SDK with message classes, which
`python -m grpc_tools.protoc -I proto --python_out FOLDER fleet/slurm/v1/lifecycle.proto` makes. A line of
JSON a case, which tests/it/interop.rs compares.

    PYTHONPATH=FOLDER python typed.py ADDRESS NAMESPACE SITE
"""

import asyncio
import dataclasses
import json
import sys
import time
from datetime import timezone

import temporalio.converter as converter
from fleet.slurm.v1 import lifecycle_pb2 as v1
from google.protobuf.json_format import MessageToDict
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle


class Json(converter.CompositePayloadConverter):
    """The SDK's default, but for one thing: a field that only a newer worker knows is not an error."""

    def __init__(self):
        super().__init__(
            converter.BinaryNullPayloadConverter(),
            converter.BinaryPlainPayloadConverter(),
            converter.JSONProtoPayloadConverter(ignore_unknown_fields=True),
            converter.BinaryProtoPayloadConverter(),
            converter.JSONPlainPayloadConverter(),
        )


class Binary(converter.CompositePayloadConverter):
    """Sends messages as `binary/protobuf`; reads either."""

    def __init__(self):
        super().__init__(
            converter.BinaryNullPayloadConverter(),
            converter.BinaryPlainPayloadConverter(),
            converter.BinaryProtoPayloadConverter(),
            converter.JSONProtoPayloadConverter(ignore_unknown_fields=True),
            converter.JSONPlainPayloadConverter(),
        )


def say(case: str, **values) -> None:
    print(json.dumps({"case": case, **values}), flush=True)


async def connect(address: str, namespace: str, converters: type) -> Client:
    data_converter = dataclasses.replace(converter.default(), payload_converter_class=converters)
    return await Client.connect(address, namespace=namespace, data_converter=data_converter)


async def start(client: Client, request: v1.AdoptRequest) -> WorkflowHandle:
    return await client.start_workflow(
        "AdoptDevice",
        request,
        id=f"slurm/{request.site}/{request.device_id}",
        task_queue=f"slurm-{request.site}",
        result_type=v1.AdoptDeviceResult,
    )


async def until_step(handle: WorkflowHandle, step: str) -> v1.Progress:
    """The progress of a running adoption that waits for something in this step: the heartbeat of its
    pending activity. Between entering a step and the first look it waits for nothing yet."""
    while True:
        description = await handle.describe()
        for pending in description.raw_description.pending_activities:
            beats = await description.data_converter.decode_wrapper(pending.heartbeat_details, [v1.Progress])
            if beats and beats[0].step == step and beats[0].waiting_for:
                return beats[0]
        await asyncio.sleep(0.1)


async def input_encoding(handle: WorkflowHandle) -> str:
    first = (await handle.fetch_history()).events[0].workflow_execution_started_event_attributes
    return first.input.payloads[0].metadata["encoding"].decode()


async def main(address: str, namespace: str, site: str) -> None:
    for converters, device in [(Json, "typed-1"), (Binary, "typed-2")]:
        client = await connect(address, namespace, converters)
        request = v1.AdoptRequest(
            request_id=f"typed-{device}", site=site, device_id=device, actor="ada", reason="a test"
        )
        request.deadline.FromSeconds(600)
        request.dry_run = True
        planned = await (await start(client, request)).result()
        request.dry_run = False
        handle = await start(client, request)
        if device == "typed-1":
            progress = await until_step(handle, "wait_active")
            seconds = int(time.time() - progress.since.ToDatetime(timezone.utc).timestamp())
            say("progress", step=progress.step, waiting_for=progress.waiting_for, seconds=seconds)
        result: v1.AdoptDeviceResult = await handle.result()
        say(
            "adopted",
            device=device,
            sent=await input_encoding(handle),
            planned=v1.Plan.Name(planned.adopt.plan),
            planned_only=planned.adopt.dry_run and not planned.HasField("resume"),
            read=type(result).__name__,
            plan=v1.Plan.Name(result.adopt.plan),
            node=result.adopt.node,
            server_id=result.adopt.server_id,
            resume=v1.ResumeOutcome.Name(result.resume.outcome),
        )

    client = await connect(address, namespace, Json)
    for request in [
        v1.AdoptRequest(request_id="t", site=site, device_id="no-flavor", actor="ada", reason="a test"),
        v1.AdoptRequest(request_id="t", site=site, device_id="typed-1", actor="ada"),
    ]:
        try:
            await (await start(client, request)).result()
        except WorkflowFailureError as failed:
            error, details = failed.cause, failed.cause.details[0]
            assert isinstance(details, v1.FailureDetails)
            say(
                "failed",
                type=error.type,
                message=error.message,
                non_retryable=error.non_retryable,
                details=MessageToDict(details),
            )


asyncio.run(main(*sys.argv[1:]))
