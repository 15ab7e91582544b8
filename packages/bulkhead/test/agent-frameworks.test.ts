import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toAgentTools, ToolApprovals } from '@bulkhead/bridges/openai-agents'
import { toClaudeServer } from '@bulkhead/bridges/claude-agent'
import { toLlamaIndexTools } from '@bulkhead/bridges/llamaindex'
import { toMastraTools } from '@bulkhead/bridges/mastra'
import { toToolSet } from '@bulkhead/bridges/ai-sdk'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { agentAt, query } from '../../bridges/test/claude-agent/sdk.ts'
import { answer as answerByClaude } from '../../bridges/test/examples/claude-agent.ts'
import { answer as answerByLlamaIndex } from '../../bridges/test/examples/llamaindex.ts'
import { answer as answerByMastra } from '../../bridges/test/examples/mastra.ts'
import { answer as answerByOpenAI } from '../../bridges/test/examples/openai-agents.ts'
import { agent as llamaAgent, agentToolCallResultEvent, llmAt } from '../../bridges/test/llamaindex/sdk.ts'
import { loopbackModel } from '../../bridges/test/loopback-model.ts'
import { Agent as MastraAgent, modelAt } from '../../bridges/test/mastra/sdk.ts'
import { Agent as OpenAIAgent, runnerAt, RunState } from '../../bridges/test/openai-agents/sdk.ts'
import { LONG, ONLY_IN_SOAK } from '../../../scripts/thoroughly.ts'
import { agentWorld } from './agent-world.ts'

const { host, workspace, end } = await agentWorld()
const model = await loopbackModel()
const claudeHome = mkdtempSync(join(tmpdir(), 'bulkhead-claude-'))
afterAll(async () => {
  await model.close()
  await end()
  rmSync(claudeHome, { recursive: true })
})
const file = join(workspace, 'out.txt')
beforeEach(() => writeFileSync(file, 'before\n'))

const READ = { id: 'a', name: 'read', input: { file_path: 'out.txt' } }
const WRITE = { id: 'w', name: 'write', input: { path: 'out.txt', content: 'after\n' } }
const WAIT = { id: 's', name: 'slow-steps', input: { wait: true } }
/** What a person has to see of the call that writes. */
const QUESTION = {
  tool: 'write', touches: [expect.stringContaining('out.txt')], diff: expect.stringMatching(/^-before$[^]*^\+after$/m),
}
/** A controller that aborts as soon as a call reports progress, and the event with which that call has ended. */
function cancelled() {
  const abort = new AbortController()
  const ended = new Promise((resolve) => {
    const off = [host.on(() => abort.abort(), ['ToolInvocationProgress']), host.on((event) => {
      for (const stop of off) stop()
      resolve(event)
    }, ['ToolInvocationCancelled', 'ToolInvocationSucceeded'])]
  })
  return { abort, ended }
}

describe('the SDK for agents of OpenAI', () => {
  const runner = runnerAt(model.url)

  it('gives results, errors and images to the model', async () => {
    const session = await host.openSession()
    const agent = new OpenAIAgent({ name: 'reader', model: 'loopback', tools: toAgentTools(session) })
    model.say(
      [
        READ, { id: 'b', name: 'read', input: { path: 'none.txt' } }, { id: 'c', name: 'picture', input: {} },
        { id: 'd', name: 'slow_steps', input: {} },
      ],
      'Done.',
    )
    expect((await runner.run(agent, 'Go.')).finalOutput).toBe('Done.')
    const { input } = model.requests.at(-1)!
    const outputs = input.filter(({ type }: { type: string }) => type === 'function_call_output')
    expect(outputs).toMatchObject([
      { call_id: 'a', output: expect.stringContaining('before') },
      { call_id: 'b', output: expect.stringContaining('none.txt') },
      {
        call_id: 'c',
        output: [
          { type: 'input_text', text: 'a dot' },
          { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' },
        ],
      },
      { call_id: 'd', output: '{"steps":2}' },
    ])
    expect(model.requests[0]!['tools']).toContainEqual(
      expect.objectContaining({ name: 'slow_steps', output_schema: expect.objectContaining({ type: 'object' }) }),
    )
    await session.close()
  })

  it.each([true, false])('asks by an interruption, with what the call would change: %s', async (allowed) => {
    model.say([WRITE], 'Done.')
    const asked: unknown[] = []
    expect(await answerByOpenAI(host, runner, 'Write.', async (question) => asked.push(question) > 0 && allowed)).toBe(
      'Done.',
    )
    expect(asked).toMatchObject([QUESTION])
    expect(readFileSync(file, 'utf8')).toBe(allowed ? 'after\n' : 'before\n')
  })

  it('runs an approved call once, also if its saved state is resumed again', async () => {
    const approvals = new ToolApprovals()
    const session = await host.openSession({ approver: approvals })
    const agent = new OpenAIAgent({ name: 'writer', model: 'loopback', tools: toAgentTools(session, { approvals }) })
    model.say([WRITE], 'Done.', 'Done again.')
    const { state, interruptions } = await runner.run(agent, 'Write.')
    state.approve(interruptions[0]!)
    const saved = state.toString()
    for (const output of ['"created":false', 'it was not approved']) {
      await runner.run(agent, await RunState.fromString(agent, saved))
      expect(model.requests.at(-1)!['input'].at(-1)).toMatchObject({
        call_id: 'w', output: expect.stringContaining(output),
      })
    }
    await session.close()
  })

  it('cancels the call with the run', async () => {
    const session = await host.openSession()
    const { abort, ended } = cancelled()
    model.say([{ ...WAIT, name: 'slow_steps' }])
    const agent = new OpenAIAgent({ name: 'waiter', model: 'loopback', tools: toAgentTools(session) })
    await expect(runner.run(agent, 'Go.', { signal: abort.signal })).rejects.toThrow('abort')
    expect(await ended).toMatchObject({ errorCode: 'ToolCancelled' })
    await session.close()
  })
})

describe('Mastra', () => {
  const agentWith = (tools: ReturnType<typeof toMastraTools> | ReturnType<typeof toToolSet>) =>
    new MastraAgent({
      id: 'reader', name: 'reader', instructions: 'Go.', model: modelAt(model.url), tools: tools as never,
    })
  const results = () => Object.fromEntries(model.requests.at(-1)!['messages'].flatMap(
    ({ role, tool_call_id: id, content }: Record<string, string>) => role === 'tool' ? [[id, content]] : [],
  ))

  it('gives results, errors and images to the model, and progress to the stream', LONG, async () => {
    const session = await host.openSession()
    model.say(
      [
        READ, { id: 'b', name: 'read', input: { path: 5 } }, { id: 'c', name: 'picture', input: {} },
        { id: 'd', name: 'slow-steps', input: {} },
      ],
      'Done.',
    )
    const chunks: { readonly type: string; readonly payload: unknown }[] = []
    for await (const chunk of (await agentWith(toMastraTools(session)).stream('Go.')).fullStream)
      chunks.push(chunk as never)
    expect(results()).toEqual({
      a: expect.stringContaining('before'), b: expect.stringMatching(/"\/path".*must be string/),
      c: expect.stringContaining('iVBORw0KGgo='), d: '{"steps":2}',
    })
    expect(chunks).toContainEqual(
      expect.objectContaining({ type: 'tool-error', payload: expect.objectContaining({ toolCallId: 'b' }) }),
    )
    expect(chunks).toContainEqual(
      expect.objectContaining({
        type: 'tool-output',
        payload: expect.objectContaining({
          toolCallId: 'd', output: expect.objectContaining({ type: 'progress', text: 'first' }),
        }),
      }),
    )
    await session.close()
  })

  it('gives the model the results of tools of the AI SDK, too', LONG, async () => {
    const session = await host.openSession()
    model.say([READ, { id: 'b', name: 'read', input: { path: 'none.txt' } }], 'Done.')
    await agentWith(toToolSet(session)).generate('Go.')
    expect(results()).toEqual({ a: expect.stringContaining('before'), b: expect.stringContaining('none.txt') })
    await session.close()
  })

  it.each([true, false])('suspends the tool with what it would change: %s', async (allowed) => {
    model.say([WRITE], 'Done.')
    const asked: unknown[] = []
    expect(
      await answerByMastra(host, modelAt(model.url), 'Write.', async (question) => asked.push(question) > 0 && allowed),
    ).toBe('Done.')
    expect(asked).toMatchObject([{ question: QUESTION }])
    expect(readFileSync(file, 'utf8')).toBe(allowed ? 'after\n' : 'before\n')
  })

  it('cancels the call with the run', async () => {
    const session = await host.openSession()
    const { abort, ended } = cancelled()
    model.say([WAIT])
    await agentWith(toMastraTools(session)).generate('Go.', { abortSignal: abort.signal }).catch(() => undefined)
    expect(await ended).toMatchObject({ errorCode: 'ToolCancelled' })
    await session.close()
  })
})

describe('LlamaIndex', () => {
  it('gives results and errors to the model, without losing a character', async () => {
    writeFileSync(file, 'a "word"\n')
    const session = await host.openSession()
    model.say(
      [READ, { id: 'b', name: 'read', input: { path: 'none.txt' } }, { id: 'c', name: 'picture', input: {} }], 'Done.',
    )
    const outputs: unknown[] = []
    for await (const event of llamaAgent({ llm: llmAt(model.url), tools: toLlamaIndexTools(session) }).runStream(
      'Go.',
    )) {
      if (agentToolCallResultEvent.include(event)) outputs.push(event.data.toolOutput)
    }
    expect(outputs).toEqual([
      { id: 'a', isError: false, result: expect.stringContaining(String.raw`a \\u0022word\\u0022\n`) },
      { id: 'b', isError: true, result: expect.stringContaining('none.txt') },
      { id: 'c', isError: false, result: expect.stringMatching(/a dot.*image\/png.*not sent/) },
    ])
    model.say([READ], 'Read.')
    expect(await answerByLlamaIndex(session, llmAt(model.url), 'Go.')).toBe('Read.')
    await session.close()
  })

  it('cancels the calls with the signal', async () => {
    const session = await host.openSession()
    const { abort, ended } = cancelled()
    model.say([WAIT], 'Stopped.')
    const { data } = await llamaAgent({
      llm: llmAt(model.url), tools: toLlamaIndexTools(session, { signal: abort.signal }),
    }).run('Go.')
    expect(data.result).toBe('Stopped.')
    expect(await ended).toMatchObject({ errorCode: 'ToolCancelled' })
    await session.close()
  })
})

describe('the Claude Agent SDK', () => {
  const calls = (...made: readonly { readonly id: string; readonly name: string; readonly input: object }[]) =>
    made.map((call) => ({ ...call, name: `mcp__bulkhead__${call.name}` }))
  const options = agentAt(model.url, claudeHome)
  /** The results in a request, where each has all that are new since the prompt. */
  const results = (request: number) =>
    Object.fromEntries(
      model.requests[request]!['messages'].at(-1).content.map(
        ({ tool_use_id: id, content, is_error: isError }: Record<string, unknown>) => [
          id, { text: JSON.stringify(content), ...(isError === true && { isError }) },
        ],
      ),
    )

  it('gives results, errors and images to the model, and cancels the call with the query', LONG, async () => {
    const session = await host.openSession()
    const steps = { id: 'd', name: 'slow-steps', input: {} }
    model.say(
      calls(
        READ, { id: 'b', name: 'read', input: { path: 'none.txt' } }, { id: 'c', name: 'picture', input: {} }, steps,
      ),
      calls(WAIT),
    )
    const server = { bulkhead: toClaudeServer(session) }
    const abortController = new AbortController()
    const off = host.on((event) => {
      if (event.type === 'ToolInvocationProgress' && event.callId.startsWith('s')) abortController.abort()
    })
    const ended = new Promise((resolve) => { host.on(resolve, ['ToolInvocationCancelled']) })
    const asked = query({
      prompt: 'Go.',
      options: { ...options, tools: [], mcpServers: server, allowedTools: ['mcp__bulkhead'], abortController },
    })
    await expect((async () => { for await (const _ of asked); })()).rejects.toThrow('abort')
    expect(await ended).toMatchObject({ tool: 'slow-steps', errorCode: 'ToolCancelled' })
    expect(results(1)).toEqual({
      a: { text: expect.stringContaining('before') }, b: { text: expect.stringContaining('none.txt'), isError: true },
      c: { text: expect.stringMatching(/a dot.*image/) }, d: { text: expect.stringContaining('steps') },
    })
    off()
    await session.close()
  })

  // The agent takes seconds to start.
  it('asks with what the call would change, once for each call', ONLY_IN_SOAK, async () => {
    model.say(calls(WRITE), calls({ ...WRITE, id: 'w2' }), 'Done.')
    const asked: string[] = []
    expect(await answerByClaude(host, options, 'Write.', async (question) => asked.push(question) > 1)).toBe('Done.')
    const question = expect.stringMatching(/^Allow `write` to write .*out\.txt\?[^]*^\| -before$[^]*^\| \+after$/m)
    expect(asked).toEqual([question, question])
    expect(results(2)).toEqual({
      w: { text: expect.stringContaining('said no'), isError: true }, w2: { text: expect.stringContaining('out.txt') },
    })
    expect(readFileSync(file, 'utf8')).toBe('after\n')
  })
})
