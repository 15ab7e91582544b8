import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ToolApprovals, toToolApproval, toToolCallRepair, toToolSet } from '@bulkhead/bridges/ai-sdk'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import {
  dynamicTool, generateText, isStepCount, jsonSchema, lastPrompt, scriptedModel, streamText, ToolLoopAgent, untilEnd,
  type ModelMessage,
  type ToolModelMessage,
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

  it('lets the person of the session approve while the tool runs', async () => {
    const asked: string[] = []
    const session = await host.openSession({
      approver: { approve: async ({ tool }) => ({ decision: asked.push(tool) > 1 ? 'once' : 'reject' }) },
    })
    const run = async () => {
      const model = scriptedModel([WRITE])
      await generateText({ model, tools: toToolSet(session), stopWhen, prompt: 'Go.' })
      return lastPrompt(model)
    }
    expect(await run()).toMatchObject({ content: [{ output: { type: 'error-text' } }] })
    expect(existsSync(file)).toBe(false)
    expect(await run()).toMatchObject({ content: [{ output: { type: 'json', value: { path: 'out.txt' } } }] })
    expect(asked).toEqual(['write', 'write'])
    expect(readFileSync(file, 'utf8')).toBe('hello')
    await session.close()
  })

  async function sdkSession() {
    const approvals = new ToolApprovals()
    const session = await host.openSession({ approver: approvals })
    return { session, approvals, tools: toToolSet(session, { approvals }) }
  }

  /** Runs the loop until it asks, and adds the answer of the person. */
  async function askedWith(
    session: Session, tools: ReturnType<typeof toToolSet>, approved: boolean, call = WRITE,
    api: 'generate' | 'stream' = 'generate',
  ) {
    const messages: ModelMessage[] = [{ role: 'user', content: 'Go.' }]
    const options = { model: scriptedModel([call]), tools, stopWhen, messages, toolApproval: toToolApproval(session) }
    const { content, responseMessages } =
      api === 'generate' ? await generateText(options) : await untilEnd(streamText(options))
    const request = content.find(({ type }) => type === 'tool-approval-request')
    if (request?.type !== 'tool-approval-request') throw new Error('It did not ask.')
    expect(request.reason).toContain(`Allow \`${call.name}\``)
    expect(request.reason).toContain('because: this tool requires approval')
    const answer: ToolModelMessage = {
      role: 'tool',
      content: [{ type: 'tool-approval-response', approvalId: request.approvalId, approved, reason: 'because' }],
    }
    return [...messages, ...responseMessages, answer]
  }

  it.each(['generate', 'stream'] as const)('honours an approval of the SDK for one call, with %sText', async (api) => {
    const { session, tools } = await sdkSession()
    const messages = await askedWith(session, tools, true, WRITE, api)
    expect(existsSync(file)).toBe(false)
    const resume = async () => {
      const model = scriptedModel('Written.')
      const options = { model, tools, stopWhen, messages }
      if (api === 'generate') await generateText(options)
      else await streamText(options).consumeStream()
      return lastPrompt(model)
    }
    expect(await resume()).toMatchObject({ content: [{ output: { type: 'json', value: { path: 'out.txt' } } }] })
    expect(readFileSync(file, 'utf8')).toBe('hello')
    expect(session.approvals()).toEqual([])
    // The same messages again do not run it again.
    rmSync(file)
    expect(await resume()).toMatchObject({
      content: [{ output: { type: 'error-text', value: expect.stringContaining('it was not approved') } }],
    })
    expect(existsSync(file)).toBe(false)
    await session.close()
  })

  it('shows the person what the call would touch and change, and honours the approval only for that', async () => {
    writeFileSync(file, 'before\n')
    const { session, approvals, tools } = await sdkSession()
    const options = { tools, stopWhen, toolApproval: toToolApproval(session, session.tools(), approvals) }
    const asked = await generateText({ ...options, model: scriptedModel([WRITE]), prompt: 'Go.' })
    const request = asked.content.find((part) => part.type === 'tool-approval-request')!
    expect(request.reason).toMatch(/^Allow `write` to write .*out\.txt\?$/m)
    expect(request.reason).toMatch(/^\| -before$/m)
    expect(approvals.question('call-1')).toMatchObject({
      tool: 'write', touches: [expect.stringContaining('out.txt')], diff: expect.stringContaining('+hello'),
    })
    writeFileSync(file, 'changed since\n')
    const answer: ToolModelMessage = {
      role: 'tool', content: [{ type: 'tool-approval-response', approvalId: request.approvalId, approved: true }],
    }
    const model = scriptedModel()
    await generateText({
      ...options, model, messages: [{ role: 'user', content: 'Go.' }, ...asked.responseMessages, answer],
    })
    expect(lastPrompt(model)).toMatchObject({
      content: [{ output: { type: 'error-text', value: expect.stringContaining('has changed since') } }],
    })
    expect(readFileSync(file, 'utf8')).toBe('changed since\n')
    await session.close()
  })

  it('does not run a call that the person denied', async () => {
    const { session, tools } = await sdkSession()
    const model = scriptedModel('As you like.')
    await generateText({ model, tools, stopWhen, messages: await askedWith(session, tools, false) })
    expect(lastPrompt(model)).toMatchObject({ content: [{ output: { type: 'execution-denied', reason: 'because' } }] })
    expect(existsSync(file)).toBe(false)
    await session.close()
  })

  it('gives an approval no more power than the policy does', async () => {
    const approvals = new ToolApprovals()
    const session = await host.openSession({ approver: approvals })
    const messages = await askedWith(session, toToolSet(session, { approvals }), true)
    const strict = await host.openSession({
      approver: approvals, rules: [{ permission: 'write', pattern: '*', action: 'deny' }],
    })
    const model = scriptedModel()
    await generateText({ model, tools: toToolSet(strict, { approvals }), stopWhen, messages })
    expect(lastPrompt(model)).toMatchObject({
      content: [{ output: { type: 'error-text', value: expect.stringContaining('rule') } }],
    })
    expect(existsSync(file)).toBe(false)
    await session.close()
    await strict.close()
  })

  it('does not extend an approval to calls of the tool, nor to other input', async () => {
    const { session, tools } = await sdkSession()
    const nested = scriptedModel()
    const approved = await askedWith(session, tools, true)
    const changed = approved.map((message): ModelMessage =>
      message.role === 'assistant' && typeof message.content !== 'string'
        ? {
            ...message,
            content: message.content.map((part) =>
              part.type === 'tool-call' ? { ...part, toolCallId: 'other' } : part,
            ),
          }
        : message,
    )
    await expect(generateText({ model: scriptedModel(), tools, messages: changed })).rejects.toThrow('call-1')
    await generateText({
      model: nested, tools, stopWhen,
      messages: await askedWith(session, tools, true, { name: 'outer', input: {} as never }),
    })
    expect(lastPrompt(nested)).toMatchObject({
      content: [{ output: { type: 'text', value: expect.stringContaining('cannot be approved') } }],
    })
    expect(existsSync(join(workspace, 'inner.txt'))).toBe(false)
    await session.close()
  })

  it('leaves approvals of other tools as they are', async () => {
    const session = await host.openSession({ mode: 'yolo' })
    const own = dynamicTool({ inputSchema: jsonSchema({ type: 'object' }), needsApproval: true, execute: () => 'ran' })
    const tools = { ...toToolSet(session), own }
    const { content } = await generateText({
      model: scriptedModel([{ name: 'own', input: {} }]), tools, toolApproval: toToolApproval(session), prompt: 'Go.',
    })
    expect(content.map(({ type }) => type)).toEqual(['tool-call', 'tool-approval-request'])
    await session.close()
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

  it('are the files that the tests below run, and agent-frameworks.test.ts', () => {
    for (const { file: name, text } of BLOCKS.filter(({ page }) => page === 'docs/guides/models.md')) {
      const example = readFileSync(join(ROOT, 'packages/bridges/test/examples', name!), 'utf8')
      expect(text).toBe(example.replace("'../../../bulkhead/src/index.ts'", "'bulkhead'"))
    }
  })

  it('AI SDK', async () => {
    expect(
      await answerByAiSdk(session, scriptedModel([{ name: 'read', input: READ }], 'It says hello.'), 'Read it.'),
    ).toBe('It says hello.')
  })

  it('AI SDK with approvals', async () => {
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

  it('Anthropic', async () => {
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

  it('Gemini', async () => {
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
