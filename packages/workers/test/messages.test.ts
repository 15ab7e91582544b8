import { BulkheadError, NO_GRANT, type ErrorCode } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import { CallServices } from '../src/caller/services.ts'
import { newMachineKey } from '../src/keys/machine-key.ts'
import { readAnswer, readError, readWorkerEntry, wireError } from '../src/messages/protocol.ts'
import { readResult, writeResult } from '../src/messages/result.ts'
import { Inbox, Outbox } from '../src/messages/signed-messages.ts'

const worker = newMachineKey()
const channel = { id: 'a', epoch: 1, ticket: 't' }
const inbox = (of: Partial<typeof channel> = {}) =>
  new Inbox({ ...channel, ...of }, 'to caller', (key) => key === worker.publicKey)

const outboxOf = (send: (message: Json) => Promise<void>, key = worker, signal = new AbortController().signal) =>
  new Outbox({ channel, direction: 'to caller', key, send, signal })

/** What a worker sends for these entries, each after the one before. */
async function sent(entries: readonly Json[], key = worker): Promise<readonly Json[]> {
  const messages: Json[] = []
  const outbox = outboxOf(async (message) => void messages.push(message), key)
  for (const entry of entries) {
    outbox.add(entry)
    await outbox.sent()
  }
  return messages
}

const codeOf = (work: () => unknown): ErrorCode | undefined => {
  try {
    work()
    return undefined
  } catch (error) {
    return BulkheadError.from(error).code
  }
}

it('messages count once and in order', async () => {
  const [first, second] = await sent(['one', 'two'])
  const reader = inbox()
  expect(reader.read(first!)).toEqual(['one'])
  expect(reader.read(first!)).toEqual([])
  expect(reader.read(second!)).toEqual(['two'])
  const other = inbox()
  expect(codeOf(() => other.read(second!))).toBe('BoundaryViolation')
})

it('entries that wait for an earlier message go together', async () => {
  const messages: Json[] = []
  const outbox = outboxOf(async (message) => void messages.push(message))
  for (const entry of [1, 2, 3]) outbox.add(entry)
  await outbox.sent()
  expect(messages).toHaveLength(1)
  expect(inbox().read(messages[0]!)).toEqual([1, 2, 3])
  expect(() => outbox.add('x'.repeat(500_000))).toThrow(/bytes/)
})

it('a message that could not be sent is sent again, until the call is over', async () => {
  const [messages, over] = [[] as Json[], new AbortController()]
  let tries = 0
  const outbox = outboxOf(async (message) => {
    messages.push(message)
    if (++tries !== 3) throw new BulkheadError('StoreUnavailable', 'gone')
  }, worker, over.signal)
  outbox.add('one')
  await outbox.sent()
  const reader = inbox()
  expect(messages.flatMap((message) => reader.read(message))).toEqual(['one'])
  expect(tries).toBe(3)
  outbox.add('two')
  over.abort()
  await outbox.sent()
})

it('a message counts for one attempt of one call, in one direction, from a trusted worker', async () => {
  const [message] = await sent(['one'])
  for (const other of [{ id: 'b' }, { epoch: 2 }, { ticket: 'u' }]) {
    expect(codeOf(() => inbox(other).read(message!))).toBe('BoundaryViolation')
  }
  expect(codeOf(() => new Inbox(channel, 'to worker', () => true).read(message!))).toBe('BoundaryViolation')
  const [forged] = await sent(['one'], newMachineKey())
  expect(codeOf(() => inbox().read(forged!))).toBe('BoundaryViolation')
  const edited = { ...message as object, text: '[1,"two"]' }
  expect(codeOf(() => inbox().read(edited as Json))).toBe('BoundaryViolation')
})

it('two trusted workers cannot speak for one attempt', async () => {
  const other = newMachineKey()
  const reader = new Inbox(channel, 'to caller', () => true)
  reader.read((await sent(['one']))[0]!)
  expect(codeOf(() => readResult(writeResult({ value: 1 }, channel, other), channel, reader))).toBe('BoundaryViolation')
})

it('a result is read if a trusted worker signed it for this attempt', () => {
  const bytes = writeResult({ value: { a: 1 } }, channel, worker)
  expect(readResult(bytes, channel, inbox())).toEqual({ value: { a: 1 } })
  const use = { part: 'net', subject: 'GET x', ms: 1, agoMs: 2, failed: false, readBytes: 3, writtenBytes: 0 } as const
  const wrong = [{ ...use, part: 'all' }, { ...use, ms: -1 }, { ...use, subject: 1 }, null] as unknown as typeof use[]
  const many = (length: number) => Array.from({ length }, () => use)
  const told = writeResult({ value: 1, uses: [...wrong, ...many(40)] }, channel, worker)
  expect(readResult(told, channel, inbox()).uses).toEqual(many(28))
  expect(codeOf(() => readResult(bytes, { ...channel, epoch: 2 }, inbox()))).toBe('BoundaryViolation')
  const edited = Buffer.from(bytes)
  edited[edited.length - 3]! ^= 1
  expect(codeOf(() => readResult(edited, channel, inbox()))).toBe('BoundaryViolation')
  expect(codeOf(() => readResult(writeResult({ value: 1 }, channel, newMachineKey()), channel, inbox())))
    .toBe('BoundaryViolation')
})

it('a result of more than 64 MB becomes an error that says how long it may be', LONG, () => {
  const overhead = writeResult({ value: '' }, channel, worker).length
  const most = 64 * 1024 ** 2 - overhead
  const read = (chars: number) =>
    readResult(writeResult({ value: 'x'.repeat(chars) }, channel, worker), channel, inbox())
  expect(read(most + 1)).toMatchObject({
    error: {
      code: 'OutputTooLarge', message: 'The result has 67108865 bytes; 67108864 cross from a worker. Return less.',
    },
  })
  const fits = thoroughly(1, most)
  expect((read(fits) as { readonly value: string }).value.length).toBe(fits)
})

it('an error keeps its code and what kind of error caused it, and claims nothing that its caller decides', () => {
  const cause = Object.assign(new Error('x'), { name: 'ToolError' })
  const error = new BulkheadError('ResourceBusy', 'busy', { data: { a: 1 }, cause })
  const read = readError(wireError(error), 'ToolExecutionFailed')
  expect(read).toMatchObject({ code: 'ResourceBusy', message: 'busy', data: { a: 1 }, cause: { name: 'ToolError' } })
  for (const code of ['CompartmentGone', 'NoWorkerReady', 'LeaseLost', 'NotACode']) {
    expect(readError({ code, message: 'x' }, 'ToolExecutionFailed').code).toBe('ToolExecutionFailed')
  }
})

it('a caller ignores what a newer worker says and it does not know, and refuses what such a worker asks', async () => {
  const limits = { messagesPerSecond: 6, outstandingRequests: 9, logBytes: 9, nestedCalls: 9 }
  const texts: string[] = []
  const services = new CallServices({
    request: { limits, services: {} } as never, grant: NO_GRANT, signal: new AbortController().signal,
    invocation: { callId: 'c', onProgress: (text: string) => void texts.push(text) } as never,
  })
  for (const entry of [[null, 'newer', {}], [null, 'begin', 'x'], [null, 'progress', 'half']] as Json[]) {
    const { method, args } = readWorkerEntry(entry)
    services.note(method, args)
  }
  expect(texts).toEqual(['half'])
  for (const method of ['newer', 'constructor', 'progress']) {
    const request = readWorkerEntry([1, method, 'x']) as Parameters<CallServices['answer']>[0]
    await expect(services.answer(request)).rejects.toMatchObject({
      code: 'CapabilityUnavailable',
      message: expect.stringMatching(`older than the worker.*"${method}". Update`) as string,
    })
  }
  expect(codeOf(() => services.note('newer', []))).toBe('BoundaryViolation')
})

it('a worker sends entries with a name and few arguments, and nothing else', () => {
  expect(readWorkerEntry([1, 'begin', 'writes a'])).toMatchObject({ kind: 'request', method: 'begin' })
  expect(readWorkerEntry([null, 'progress', 'half'])).toMatchObject({ kind: 'note', method: 'progress' })
  const wrong = [[1, 7], ['1', 'begin'], 'begin', [1, 'begin', 1, 2, 3, 4]]
  for (const entry of wrong) {
    expect(codeOf(() => readWorkerEntry(entry as Json))).toBe('BoundaryViolation')
  }
  for (const entry of [[1, 'yes', 2], [1.5, true, 2], [1, true], 7]) {
    expect(codeOf(() => readAnswer(entry as Json))).toBe('BoundaryViolation')
  }
})
