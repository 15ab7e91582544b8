import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { Channel } from '../src/wire/link.ts'
import { KINDS } from '../src/wire/message.ts'
import type { Message } from '../src/wire/protocol.ts'
import { Remote } from '../src/wire/rpc.ts'

const { request, value, failure } = KINDS.call

function open(): { readonly posted: Message[]; readonly channel: Channel; readonly remote: Remote } {
  const posted: Message[] = []
  const channel = new Channel(KINDS.call, (message) => {
    if (message[2] === 'unsendable') throw new RangeError('too large')
    posted.push(message)
  })
  return { posted, channel, remote: new Remote(channel) }
}

/** Records all replies, in order. */
const notes = (replies: string[], name: string): Parameters<Remote['request']>[2] => ({
  answered: (answer) => void replies.push(`${name}: ${String(answer)}`),
  failed: (error) => void replies.push(`${name} failed: ${(error as Error).message}`),
})

it('passes each reply to its own request, once', () => {
  const { posted, channel, remote } = open()
  const replies: string[] = []
  remote.request('first', [1], notes(replies, 'first'))
  remote.request('second', [], notes(replies, 'second'))
  expect(posted).toEqual([[request, 1, 'first', [1]], [request, 2, 'second', []]])
  channel.deliver([failure, 2, { name: 'E', message: 'no' }])
  channel.deliver([value, 1, 'yes'])
  channel.deliver([value, 1, 'again'])
  channel.deliver([value, 3, 'unrequested'])
  expect(replies).toEqual(['second failed: no', 'first: yes'])
})

it('rejects a request that cannot be sent, and no other', () => {
  const { channel, remote } = open()
  const replies: string[] = []
  remote.request('unsendable', [], notes(replies, 'large'))
  remote.request('small', [], notes(replies, 'small'))
  channel.deliver([value, 2, 1])
  expect(replies).toEqual(['large failed: too large', 'small: 1'])
})

it('rejects open and later requests after its end, each once', () => {
  const { posted, channel, remote } = open()
  const replies: string[] = []
  remote.request('open', [], {
    answered: () => undefined,
    // A handler may send another request at once.
    failed: () => remote.request('in between', [], notes(replies, 'in between')),
  })
  remote.request('open too', [], notes(replies, 'open too'))
  remote.end(new Error('over'))
  remote.end(new Error('again'))
  remote.request('late', [], notes(replies, 'late'))
  channel.deliver([value, 2, 'late'])
  expect(replies).toEqual(['in between failed: over', 'open too failed: over', 'late failed: over'])
  expect(posted).toHaveLength(2)
})

it('rejects calls through Comlink that are open when it ends, and later ones, and sends nothing more', async () => {
  const { posted, channel, remote } = open()
  const calls = [remote.call('a'), remote.call('a'), remote.call('b')]
  channel.deliver([value, 1, 'in time'])
  remote.end(new Error('over'))
  channel.deliver([value, 2, 'late'])
  calls.push(remote.call('a'), remote.call('c'))
  const over = { status: 'rejected', reason: new Error('over') }
  expect(await Promise.allSettled(calls)).toEqual([{ status: 'fulfilled', value: 'in time' }, over, over, over, over])
  expect(posted).toHaveLength(3)
})

it('rejects a call through Comlink that cannot be sent with the cause', async () => {
  const { channel, remote } = open()
  const calls = [remote.call('unsendable'), remote.call('small')]
  channel.deliver([value, 2, 1])
  expect(await Promise.allSettled(calls))
    .toEqual([{ status: 'rejected', reason: new RangeError('too large') }, { status: 'fulfilled', value: 1 }])
})

it('is collected after its end, although Comlink keeps what its proxies talk to', LONG, async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const used = (): WeakRef<Remote> => {
    const reached: { remote?: Remote } = {}
    // As in a peer, whose link can reach the remote.
    const remote = new Remote(new Channel(KINDS.call, () => reached.remote))
    reached.remote = remote
    remote.call('a').catch(() => undefined)
    remote.end(new Error('over'))
    return new WeakRef(remote)
  }
  const remote = used()
  for (let turns = 0; turns < 5; turns++) {
    await nextTurn()
    collect()
  }
  expect(remote.deref() === undefined).toBe(true)
})

it('offers calls that return promises', async () => {
  const { channel, remote } = open()
  const [kept, broken] = [remote.call('a', 1, 2), remote.call('b')]
  channel.deliver([value, 1, 3])
  channel.deliver([failure, 2, { name: 'TypeError', message: 'no', code: 'X' }])
  expect(await kept).toBe(3)
  await expect(broken).rejects.toMatchObject({ name: 'TypeError', message: 'no', code: 'X' })
})
