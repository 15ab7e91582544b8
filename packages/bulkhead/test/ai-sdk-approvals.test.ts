import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ToolApprovals, toToolApproval, toToolSet } from '@bulkhead/bridges/ai-sdk'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import {
  dynamicTool, generateText, isStepCount, jsonSchema, lastPrompt, scriptedModel, streamText, untilEnd,
  type ModelMessage, type ToolModelMessage,
} from '../../bridges/test/ai-sdk/scripted-model.ts'
import type { Session } from '../src/index.ts'
import { agentWorld } from './agent-world.ts'

const { host, workspace, end } = await agentWorld()
afterAll(end)
const file = join(workspace, 'out.txt')
beforeEach(() => rmSync(file, { force: true }))

describe('the AI SDK', () => {
  const WRITE = { name: 'write', input: { path: 'out.txt', content: 'hello' } }
  const stopWhen = isStepCount(4)

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
})
