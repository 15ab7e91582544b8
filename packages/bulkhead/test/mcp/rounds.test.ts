import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { clientOf, servedWorld, type ServedWorld } from './served-world.ts'

/** The response to a client of the modern era if its user must be asked. */
interface Round {
  readonly resultType?: string
  readonly requestState: string
  readonly inputRequests: Record<string, { readonly method: string; readonly params: { readonly message: string } }>
}

const ARGS = { path: 'out.txt', content: 'x' }
const YES = { answer: { action: 'accept', content: { decision: 'once' } } }

/** A client that does what the SDK would do. */
function byHand(client: Client) {
  const send = (name: string, args: object, more: object = {}) =>
    client.request(
      { method: 'tools/call', params: { name, arguments: args, ...more } as never }, { allowInputRequired: true },
    )
  return {
    ask: async (name = 'write', args: object = ARGS) => (await send(name, args)) as unknown as Round,
    goOn: (
      { requestState }: Pick<Round, 'requestState'>, inputResponses: unknown = YES, name = 'write', args: object = ARGS,
    ) => send(name, args, { requestState, inputResponses }),
  }
}

describe('a client that is asked in the response to its call', () => {
  let world: ServedWorld
  let rounds: ReturnType<typeof byHand>
  const begin = async (answerWithinMs = 300_000) => {
    world = await servedWorld({ serve: { answerWithinMs } })
    const client = clientOf('modern', () => ({ action: 'cancel' }), { inputRequired: { autoFulfill: false } })
    await client.connect(world.transport)
    rounds = byHand(client)
  }
  const isWritten = () => existsSync(join(world.workspace, 'out.txt'))
  beforeEach(() => begin())
  afterEach(() => world.end())

  it('continues the waiting call', async () => {
    const round = await rounds.ask()
    expect(round).toMatchObject({
      resultType: 'input_required', inputRequests: { answer: { method: 'elicitation/create' } },
    })
    expect(isWritten()).toBe(false)
    expect(await rounds.goOn(round)).toMatchObject({ structuredContent: { created: true } })
    expect(world.eventsOf('ToolInvocationProposed')).toHaveLength(1)
  })

  it('can answer only once', async () => {
    const round = await rounds.ask()
    await rounds.goOn(round, { answer: { action: 'decline' } })
    await expect(rounds.goOn(round)).rejects.toMatchObject({ code: -32602 })
    expect(isWritten()).toBe(false)
  })

  it('cannot answer for another call', async () => {
    const round = await rounds.ask()
    const other = { path: 'other.txt', content: 'x' }
    await expect(rounds.goOn(round, YES, 'write', other)).rejects.toMatchObject({
      code: -32602, message: expect.stringMatching(/another call/),
    })
    const deep = JSON.parse(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`) as object
    await expect(rounds.goOn(round, YES, 'write', deep)).rejects.toMatchObject({ code: -32602 })
    await expect(rounds.goOn(round, YES, 'edit')).rejects.toMatchObject({ code: -32602 })
    await expect(rounds.goOn({ requestState: 'guessed' })).rejects.toMatchObject({ code: -32602 })
    expect(existsSync(join(world.workspace, 'other.txt'))).toBe(false)
    // The question is still open.
    await rounds.goOn(round)
    expect(isWritten()).toBe(true)
  })

  it.each<[string, unknown]>([
    ['no answer', {}],
    ['an answer to another question', { other: YES.answer }],
    ['a string', { answer: 'once' }],
    ['an array', { answer: [YES.answer] }],
    ['an unknown action', { answer: { ...YES.answer, action: 'ACCEPT' } }],
  ])('does not approve with %s', async (_, responses) => {
    const refused = await rounds.goOn(await rounds.ask(), responses)
    expect(refused).toMatchObject({ isError: true, _meta: { 'bulkhead/error': { code: 'ApprovalDenied' } } })
    expect(isWritten()).toBe(false)
  })

  it('is asked about the next call even if it drops the previous question, or answers it later', async () => {
    const other = { path: 'other.txt', content: 'x' }
    const [first, , third] = [await rounds.ask(), await rounds.ask(), await rounds.ask('write', other)]
    expect(await rounds.goOn(third, YES, 'write', other)).toMatchObject({ structuredContent: { path: 'other.txt' } })
    expect(isWritten()).toBe(false)
    expect(await rounds.goOn(first)).toMatchObject({ structuredContent: { path: 'out.txt', created: true } })
  })

  it('that does not answer has its call cancelled', async () => {
    await world.end()
    await begin(50)
    const given = await rounds.ask()
    await expect.poll(() => world.eventsOf('ToolInvocationCancelled').map(({ callId }) => callId)).toEqual(['mcp-1'])
    await expect(rounds.goOn(given)).rejects.toMatchObject({ code: -32602 })
    expect(isWritten()).toBe(false)
  })

  it('that disconnects while it is asked has its call cancelled', async () => {
    await rounds.ask()
    await world.transport.close()
    await world.serving.closed
    expect(world.eventsOf('ToolInvocationCancelled')).toHaveLength(1)
    expect(isWritten()).toBe(false)
  })
})

describe('a client of the legacy era', () => {
  it('is asked one question at a time, and an answer may settle others', async () => {
    const world = await servedWorld()
    let asked = 0
    const client = await world.connect('legacy', () => ({
      action: 'accept', content: { decision: ++asked === 1 ? 'session' : 'reject' },
    }))
    const write = () => client.callTool({ name: 'write', arguments: ARGS })
    for (const written of await Promise.all([write(), write()]))
      expect(written).toMatchObject({ structuredContent: { path: 'out.txt' } })
    expect(asked).toBe(1)
    await world.end()
  })

  it('that fails to ask has the call refused, and continues', async () => {
    const world = await servedWorld()
    const client = await world.connect('legacy', () => { throw new Error('no window is open') })
    const refused = await client.callTool({ name: 'write', arguments: ARGS })
    expect(refused).toMatchObject({ isError: true, _meta: { 'bulkhead/error': { code: 'ApprovalDenied' } } })
    expect(JSON.stringify(refused)).toMatch(/cannot ask a person: .*no window is open.*with a rule/)
    expect((await client.listTools()).tools.length).toBeGreaterThan(5)
    await world.end()
  })

  it('that never answers has the call refused at the timeout', async () => {
    const world = await servedWorld({ serve: { answerWithinMs: 50 } })
    const withdrawn = Promise.withResolvers<void>()
    const client = clientOf('legacy', undefined, { capabilities: { elicitation: {} } })
    client.setRequestHandler('elicitation/create', (_, { mcpReq: { signal } }) => new Promise(() => {
      signal.addEventListener('abort', () => withdrawn.resolve())
    }))
    await client.connect(world.transport)
    const refused = await client.callTool({ name: 'write', arguments: ARGS })
    expect(JSON.stringify(refused)).toMatch(/no one answered in time/)
    await withdrawn.promise
    await world.end()
  })

  it('cannot answer a question that it was not asked', async () => {
    const world = await servedWorld()
    const { goOn } = byHand(await world.connect('legacy'))
    await expect(goOn({ requestState: 'x' })).rejects.toMatchObject({ code: -32602 })
    await world.end()
  })
})
