import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { BulkheadError } from '@bulkhead/contract'
import { Random } from '../../soak/random.ts'
import { answered, Conversation, LIMITS, turn, violated } from './conversation.ts'
import type { SentMessage } from './oracle.ts'
import { allowed } from './oracle.ts'
import { somePacket } from './packets.ts'

const PACKETS_PER_COMPARTMENT = 50
const GROWTH_BYTES = 16 * 1024 * 1024

/** Everything that a message of a compartment must not change. */
const surroundings = (): string => JSON.stringify([
  Object.getOwnPropertyNames(globalThis).length,
  ...[Object, Array, Function, Promise, String, Map, BulkheadError].map(
    ({ prototype }) => Reflect.ownKeys(prototype).map(String),
  ),
])

function collector(): () => number {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  // Reset, because later threads would get the global too.
  setFlagsFromString('--no-expose-gc')
  return () => {
    gc()
    return process.memoryUsage().heapUsed
  }
}

/** Posts one packet and compares the result with the expected one. */
async function post(
  conversation: Conversation, packet: unknown, letGo: boolean,
): Promise<readonly SentMessage[] | undefined> {
  const questions = new Set(conversation.openCalls.map(({ id }) => id))
  const sent = allowed(packet, { questions, requests: conversation.requests, limits: LIMITS })
  for (const one of sent ?? []) if (one.type === 'request') conversation.requests.add(one.id)
  try {
    conversation.wire.post(packet)
    if (sent === undefined) await violated(conversation)
    else {
      await conversation.settle(letGo)
      answered(conversation, sent)
    }
  } catch (error) {
    throw new Error(`By ${inspect(packet, { maxStringLength: 2_000, maxArrayLength: 5 })}`, { cause: error })
  }
  return sent
}

/** Sends so many packets. Throws when a result is wrong, or when a kind of packet did not occur. */
export async function checkPackets(packets: number, seed: number): Promise<void> {
  const random = new Random(seed)
  const heap = collector()
  const before = surroundings()
  const seen = { allowed: 0, refused: 0, calls: 0, requests: 0 }
  let warm = 0
  for (let posted = 0; posted < packets;) {
    const conversation = new Conversation()
    await conversation.open()
    let alive = true
    for (let turns = 0; alive && turns < PACKETS_PER_COMPARTMENT; turns++, posted++) {
      await conversation.call()
      const sent = await post(conversation, somePacket(random, conversation.openIds), random.chance(0.2))
      if (sent === undefined) {
        alive = false
        seen.refused++
        // The session has ended: later messages are ignored.
        for (let late = 0; late < 3; late++) conversation.wire.post(somePacket(random, conversation.openIds))
      } else {
        seen.allowed++
        seen.requests += sent.filter(({ type }) => type === 'request').length
      }
    }
    if (alive) conversation.wire.exit()
    await conversation.ended
    await turn()
    seen.calls += conversation.calls.length
    assert(conversation.calls.every(({ settlements }) => settlements === 1))
    if (warm === 0 && posted > packets / 5) warm = heap()
  }
  assert(heap() - warm < GROWTH_BYTES, 'The host keeps what it was sent.')
  assert.equal(surroundings(), before)
  // The generator must produce many valid and many invalid packets.
  for (const [what, least] of [
    ['allowed', packets / 3], ['refused', packets / 10], ['requests', packets / 5], ['calls', packets / 10],
  ] as const) {
    assert(seen[what] > least, `${what}: ${seen[what]} of ${packets}`)
  }
}
