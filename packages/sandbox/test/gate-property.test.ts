import { expect, it, onTestFinished } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { KINDS } from '../src/wire/message.ts'
import { Conversation, LIMITS, violated } from './gate-property/conversation.ts'
import { checkPackets } from './gate-property/check-packets.ts'

/** A sample. `pnpm soak` sends a hundred thousand. */
const PACKETS = thoroughly(250, 5_000)
/** Set SEED to reproduce a failure. */
const SEED = Number(process.env['SEED'] ?? Date.now() % 2 ** 32)

it(`keeps its guarantees for ${PACKETS} packets of every kind`, async () => {
  const unhandled: unknown[] = []
  const note = (error: unknown): void => void unhandled.push(error)
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, note)
    onTestFinished(() => void process.off(event, note))
  }
  await checkPackets(PACKETS, SEED).catch((error: unknown) => {
    throw new Error(`Not with SEED=${SEED}`, { cause: error })
  })
  expect(unhandled).toEqual([])
})

it.each([
  ['in one packet', (requests: readonly unknown[]) => [JSON.stringify(requests)]],
  ['one after the other', (requests: readonly unknown[]) => requests.map((request) => JSON.stringify(request))],
])('kills a compartment that floods it with valid requests %s', async (_how, packetsOf) => {
  const conversation = new Conversation()
  await conversation.open()
  await conversation.call()
  const requests = Array.from(
    { length: LIMITS.outstandingRequests + 1 }, (_, id) => [KINDS.broker.request, id, 'state.read', ['unknown']],
  )
  for (const packet of packetsOf(requests)) conversation.wire.post(packet)
  await violated(conversation)
})
