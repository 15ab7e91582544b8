import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { toLangChainTools } from '@bulkhead/bridges/langchain'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { answer as answerByLangChain } from '../../bridges/test/examples/langchain.ts'
import {
  AIMessage, convertToOpenAITool, isStructuredTool, ToolMessage, type StructuredToolInterface,
} from '../../bridges/test/langchain/sdk.ts'
import type { Session } from '../src/index.ts'
import { agentWorld } from './agent-world.ts'

const { host, workspace, end } = await agentWorld()
afterAll(end)
beforeEach(() => writeFileSync(join(workspace, 'out.txt'), 'before\n'))

const READ = { file_path: 'out.txt' }

describe('LangChain', () => {
  const toolOf = (session: Session, name: string): StructuredToolInterface =>
    toLangChainTools(session).find((tool) => tool.name === name)!
  const toolCall = (name: string, args: object) =>
    new AIMessage({ content: '', tool_calls: [{ id: 'call-1', name, args, type: 'tool_call' }] }).tool_calls![0]!

  it('offers tools with their schemas, which it may change', async () => {
    const session = await host.openSession()
    const tools = toLangChainTools(session)
    expect(tools.every((tool) => isStructuredTool(tool))).toBe(true)
    const read = tools.find(({ name }) => name === 'read')!
    expect(convertToOpenAITool(read)).toMatchObject({
      type: 'function', function: { name: 'read', parameters: { type: 'object', required: ['path'] } },
    })
    Object.assign(read.schema, { title: 'changed' })
    await session.close()
  })

  it('returns a message with the outcome as artifact, and with status error for a failure', async () => {
    const session = await host.openSession()
    const message = await toolOf(session, 'read').invoke(toolCall('read', { path: 'out.txt', limit: null }))
    expect(message).toBeInstanceOf(ToolMessage)
    expect(message).toMatchObject({
      tool_call_id: 'call-1', name: 'read', status: 'success', content: expect.stringContaining('before'),
      artifact: {
        type: 'output', data: { content: 'before\n' }, metadata: { call_id: expect.stringMatching(/^call-1/) },
      },
    })
    expect(await toolOf(session, 'read').invoke(toolCall('read', { path: 5 }))).toMatchObject({
      status: 'error', content: expect.stringMatching(/"\/path".*must be string/),
      artifact: { error: { code: 'InputInvalid' } },
    })
    expect(await toolOf(session, 'picture').invoke(toolCall('picture', {}))).toMatchObject({
      content: [{ type: 'text', text: 'a dot' }, { type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgo=' }],
    })
    await session.close()
  })

  it('returns content, or rejects, if it is invoked without a call', async () => {
    const session = await host.openSession()
    expect(await toolOf(session, 'slow-steps').invoke({})).toBe('{"steps":2}')
    await expect(toolOf(session, 'read').invoke({ path: 'nowhere' })).rejects.toMatchObject({ code: 'NotFound' })
    await session.close()
  })

  it('cancels the call with the signal of the configuration', async () => {
    const session = await host.openSession()
    const abort = new AbortController()
    const off = host.on(() => abort.abort(), ['ToolInvocationProgress'])
    expect(await toolOf(session, 'slow-steps').invoke(toolCall('slow-steps', { wait: true }), { signal: abort.signal }))
      .toMatchObject({ status: 'error', artifact: { error: { code: 'ToolCancelled' } } })
    off()
    await session.close()
  })

  it('runs the example of docs/guides/models.md', async () => {
    const session = await host.openSession()
    const sent: unknown[] = []
    const calls = [{ id: 'c1', name: 'read', args: READ }, { id: 'c2', name: 'reads', args: {} }]
    const answers = [new AIMessage({ content: '', tool_calls: calls }), new AIMessage('Hello.')]
    expect(
      await answerByLangChain(session, async (messages) => answers[sent.push(...messages) > 1 ? 1 : 0]!, 'Read it.'),
    ).toBe(answers[1])
    expect(sent.slice(-2)).toMatchObject([
      { tool_call_id: 'c1', status: 'success', content: expect.stringContaining('before') },
      { tool_call_id: 'c2', status: 'error' },
    ])
    await session.close()
  })
})
