import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { toToolCallRepair, toToolSet } from '@bulkhead/bridges/ai-sdk'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import {
  generateText, isStepCount, lastPrompt, scriptedModel, streamText, ToolLoopAgent, type ToolModelMessage,
} from '../../bridges/test/ai-sdk/scripted-model.ts'
import { answer as answerByAiSdk } from '../../bridges/test/examples/ai-sdk.ts'
import { openChat } from '../../bridges/test/examples/ai-sdk-approval.ts'
import { answer as answerByAnthropic } from '../../bridges/test/examples/anthropic.ts'
import { answer as answerByGemini } from '../../bridges/test/examples/gemini.ts'
import type { Session } from '../src/index.ts'
import { agentWorld } from './agent-world.ts'
import { BLOCKS, ROOT } from './pages/blocks.ts'

const { host, workspace, end } = await agentWorld()
afterAll(end)
const file = join(workspace, 'out.txt')
beforeEach(() => rmSync(file, { force: true }))

describe('the AI SDK', () => {
  const WRITE = { name: 'write', input: { path: 'out.txt', content: 'hello' } }
  const stopWhen = isStepCount(4)

  it('runs the calls of generateText, and gives results and errors to the model', async () => {
    writeFileSync(file, 'hello\n')
    const session = await host.openSession()
    const model = scriptedModel(
      [
        { id: 'a', name: 'read', input: { path: 'out.txt' } }, { id: 'b', name: 'read', input: { path: 5 } },
        { id: 'c', name: 'picture', input: {} },
      ],
      'The file says hello.',
    )
    const { text, steps } = await generateText({ model, tools: toToolSet(session), stopWhen, prompt: 'Read it.' })
    expect(text).toBe('The file says hello.')
    expect(model.doGenerateCalls[0]!.tools).toContainEqual(expect.objectContaining({
      name: 'read', inputSchema: expect.objectContaining({ type: 'object', required: ['path'] }),
    }))
    expect(lastPrompt(model)).toMatchObject({
      role: 'tool',
      content: [
        { toolCallId: 'a', output: { type: 'json', value: { path: 'out.txt', content: 'hello\n' } } },
        { toolCallId: 'b', output: { type: 'error-text', value: expect.stringMatching(/"\/path".*must be string/) } },
        {
          toolCallId: 'c',
          output: {
            type: 'content',
            value: [
              { type: 'text', text: 'a dot' },
              { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw0KGgo=' } },
            ],
          },
        },
      ],
    })
    expect(steps[0]!.toolResults[0]!.output).toMatchObject({
      type: 'output', metadata: { call_id: expect.stringMatching(/^a/), tool: 'read' },
    })
    await session.close()
  })

  it('gives a framework one value, and its own schema of the result', async () => {
    const session = await host.openSession()
    const { read, 'slow-steps': slow } = toToolSet(session)
    const returned = read!.execute!({ path: 'none.txt' }, { toolCallId: 'one', messages: [] } as never)
    expect(returned).toBeInstanceOf(Promise)
    const outcome = await returned
    expect(outcome).toMatchObject({ type: 'error', error: { code: 'NotFound' } })
    // The SDK passes the output with the call, Mastra passes it alone.
    const given = read!.toModelOutput as (passed: unknown) => unknown
    expect(given(outcome)).toMatchObject({ type: 'error-text' })
    expect(given({ toolCallId: 'one', input: {}, output: outcome })).toEqual(given(outcome))
    const own = session.tools().find(({ name }) => name === 'slow-steps')!.outputSchema
    expect(own).toMatchObject({ properties: { steps: { type: 'integer' } } })
    expect(slow!.outputSchema).toMatchObject({
      jsonSchema: { anyOf: [{ properties: { data: own } }, { properties: { error_text: {} } }] },
    })
    await session.close()
  })

  it('understands the tools and arguments of other agents', async () => {
    writeFileSync(file, 'hello\n')
    const session = await host.openSession()
    const model = scriptedModel([
      { id: 'a', name: 'read', input: { file_path: 'out.txt' } },
      { id: 'b', name: 'read_file', input: { file_path: 'out.txt' } }, { id: 'c', name: 'no_tool', input: {} },
    ])
    await generateText({
      model, tools: toToolSet(session), repairToolCall: toToolCallRepair(session), stopWhen, prompt: 'Read it.',
    })
    const read = { type: 'json', value: { path: 'out.txt', content: 'hello\n' } }
    const output = Object.fromEntries(
      (lastPrompt(model) as ToolModelMessage).content.map((part) =>
        'toolCallId' in part ? [part.toolCallId, part] : [],
      ),
    )
    expect(output).toMatchObject({
      a: { output: read }, b: { toolName: 'read', output: read }, c: { output: { type: 'error-text' } },
    })
    await session.close()
  })

  it('offers code mode with the functions of its programs', async () => {
    writeFileSync(file, 'hello\n')
    const session = await host.openSession({ codeMode: true })
    expect(() => toToolSet(session)).toThrow('host.offeredTools(session)')
    const model = scriptedModel([
      { name: 'code_mode', input: { code: 'return (await tools.read({ path: "out.txt" })).content' } },
    ])
    await generateText({
      model, tools: toToolSet(session, { tools: host.offeredTools(session) }), stopWhen, prompt: 'Read it.',
    })
    expect(model.doGenerateCalls[0]!.tools).toMatchObject([
      { name: 'code_mode', description: expect.stringContaining('read(args: ') },
    ])
    expect(lastPrompt(model)).toMatchObject({ content: [{ output: { type: 'json', value: { value: 'hello\n' } } }] })
    await session.close()
  })

  it('shows progress as preliminary results of streamText, if streaming is asked for', async () => {
    const session = await host.openSession({ mode: 'yolo' })
    const model = scriptedModel([{ name: 'slow-steps', input: {} }])
    const outputs: unknown[] = []
    for await (const part of streamText({
      model, tools: toToolSet(session, { streaming: true }), stopWhen, prompt: 'Go.',
    }).fullStream) {
      if (part.type === 'tool-result') outputs.push([part.preliminary ?? false, part.output])
    }
    const outcome = expect.objectContaining({ type: 'output', data: { steps: 2 } })
    expect(outputs).toEqual([
      [true, { type: 'progress', callId: expect.stringMatching(/^call-1/), tool: 'slow-steps', text: 'first' }],
      [true, { type: 'progress', callId: expect.stringMatching(/^call-1/), tool: 'slow-steps', partial: { done: 1 } }],
      [true, outcome], [false, outcome],
    ])
    expect(lastPrompt(model)).toMatchObject({
      content: [{ toolName: 'slow-steps', output: { type: 'json', value: { steps: 2 } } }],
    })
    await session.close()
  })

  it('cancels the call when the loop is aborted', async () => {
    const session = await host.openSession({ mode: 'yolo' })
    const abort = new AbortController()
    const ended: unknown[] = []
    const off = host.on((event) => void ended.push(event), ['ToolInvocationCancelled'])
    const model = scriptedModel([{ name: 'slow-steps', input: { wait: true } }])
    const stop = host.on(() => abort.abort(), ['ToolInvocationProgress'])
    const { fullStream } = streamText({
      model, tools: toToolSet(session), stopWhen, prompt: 'Go.', abortSignal: abort.signal,
    })
    for await (const _ of fullStream);
    stop()
    await session.close()
    off()
    expect(ended).toMatchObject([{ callId: expect.stringMatching(/^call-1/), errorCode: 'ToolCancelled' }])
  })

  it('serves an agent of the SDK', async () => {
    const session = await host.openSession({ mode: 'yolo' })
    const model = scriptedModel([WRITE], 'Done.')
    const agent = new ToolLoopAgent({
      model, tools: toToolSet(session),
      prepareStep: () => ({
        activeTools: host
          .offeredTools(session)
          .slice(-1)
          .map(({ name }) => name),
      }),
    })
    expect((await agent.generate({ prompt: 'Go.' })).text).toBe('Done.')
    expect(model.doGenerateCalls[0]!.tools).toHaveLength(1)
    expect(readFileSync(file, 'utf8')).toBe('hello')
    await session.close()
  })
})

describe('the examples of docs/guides/models.md', () => {
  const READ = { path: 'out.txt' }
  let session: Session
  beforeEach(async () => {
    writeFileSync(file, 'hello\n')
    session = await host.openSession()
    return () => session.close()
  })

  it('are the files that the tests of agent SDKs and frameworks run', () => {
    for (const { file: name, text } of BLOCKS.filter(({ page }) => page === 'docs/guides/models.md')) {
      const example = readFileSync(join(ROOT, 'packages/bridges/test/examples', name!), 'utf8')
      expect(text).toBe(example.replace("'../../../bulkhead/src/index.ts'", "'bulkhead'"))
    }
  })

  it('run with the AI SDK', async () => {
    expect(
      await answerByAiSdk(session, scriptedModel([{ name: 'read', input: READ }], 'It says hello.'), 'Read it.'),
    ).toBe('It says hello.')
  })

  it('run with the AI SDK and its approvals', async () => {
    const chat = await openChat(
      host, scriptedModel([{ name: 'write', input: { path: 'out.txt', content: 'bye' } }], 'Written.'),
    )
    const { toApprove: [request] } = await chat.send({ role: 'user', content: 'Write it.' })
    expect(request).toMatchObject({ toolCall: { toolName: 'write' }, reason: expect.stringContaining('| +bye') })
    const approved = { type: 'tool-approval-response' as const, approvalId: request!.approvalId, approved: true }
    expect(await chat.send({ role: 'tool', content: [approved] })).toEqual({ text: 'Written.', toApprove: [] })
    expect(readFileSync(file, 'utf8')).toBe('bye')
    await chat.close()
  })

  it('run with the SDK of Anthropic', async () => {
    const sent: unknown[] = []
    const answers = [
      { content: [{ type: 'tool_use', id: 'c1', name: 'read', input: READ }] },
      { content: [{ type: 'text', text: 'Hello.' }] },
    ]
    const create = async ({ messages }: { readonly messages: readonly unknown[] }) =>
      answers[sent.push(messages.at(-1)) - 1] as never
    expect(await answerByAnthropic(session, create, 'Read it.')).toBe(answers[1])
    expect(sent[1]).toMatchObject({
      role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: expect.stringContaining('hello') }],
    })
  })

  it('run with the SDK of Gemini', async () => {
    const sent: unknown[] = []
    const functionCalls = [{ name: 'read', args: READ }]
    const answers = [{ functionCalls, candidates: [{ content: { role: 'model', parts: [] } }] }, { text: 'Hello.' }]
    const models = {
      generateContent: async ({ contents }: { readonly contents: readonly unknown[] }) =>
        answers[sent.push(contents.at(-1)) - 1],
    }
    expect(await answerByGemini(session, { models } as never, 'Read it.')).toBe('Hello.')
    expect(sent[1]).toMatchObject({
      role: 'user', parts: [{ functionResponse: { name: 'read', response: { output: { content: 'hello\n' } } } }],
    })
  })
})
