import type { ApprovalRequest, Outcome, ToolDefinition } from '@bulkhead/contract'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { expect, it } from 'vitest'
import { toCanUseTool, toClaudeServer, ToolApprovals, type ClaudeSession } from '../../src/claude-agent/index.ts'

const tool = (name: string, more: Partial<ToolDefinition> = {}): ToolDefinition =>
  ({
    name, label: name, description: 'Does it.',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } } }, mode: 'read', requires: {},
    executor: 'local', ...more,
  }) as ToolDefinition
const STEPS = tool('steps', {
  outputSchema: { type: 'object', properties: { steps: { type: 'integer' } }, required: ['steps'] },
})

/** A session whose calls end like this, and that asks about `write`. */
function sessionOf(outcome: Partial<Outcome>, approvals?: ToolApprovals): ClaudeSession {
  const request = (callId: string, args: unknown): ApprovalRequest => ({
    sessionId: 's', callId, tool: 'write', label: '', mode: 'safe_write', kind: 'edit', origin: 'here', approvalKey: '',
    argumentsText: JSON.stringify(args), touches: [], mayTouch: [], reasons: [], answers: [],
  })
  return {
    tools: () => [STEPS, tool('write', { mode: 'safe_write' })],
    async call({ id, name, arguments: args }, { onProgress }) {
      onProgress?.({ callId: id, tool: name, text: 'half' })
      const metadata = { call_id: id, tool: name, origin: null, duration_ms: 1, attempt: 1 }
      const answer = name === 'write' ? await approvals?.approve(request(id, args)) : undefined
      return {
        type: 'output', data: answer?.decision ?? null, ...outcome, metadata: { ...metadata, ...outcome.metadata },
      } as Outcome
    },
    explain: async ({ id, name, arguments: args }) =>
      name === 'write' ? { decision: 'ask', question: request(id, args) } : { decision: 'allow' },
  }
}

async function connected(session: ClaudeSession, approvals?: ToolApprovals) {
  const [here, there] = InMemoryTransport.createLinkedPair()
  const { instance } = toClaudeServer(session, approvals && { approvals })
  const client = new Client({ name: 'agent', version: '1.0.0' })
  await Promise.all([instance.connect(here), client.connect(there)])
  return client
}

it('lists tools with their schemas, and answers with structured content and progress', async () => {
  const client = await connected(sessionOf({ data: { steps: 2 } }))
  expect((await client.listTools()).tools).toMatchObject([
    { name: 'steps', outputSchema: STEPS.outputSchema, annotations: { readOnlyHint: true } },
    { name: 'write', annotations: { readOnlyHint: false } },
  ])
  const progress: unknown[] = []
  expect(
    await client.callTool({ name: 'steps', arguments: {} }, undefined, {
      onprogress: (update) => progress.push(update),
    }),
  ).toEqual({ content: [{ type: 'text', text: '{"steps":2}' }], structuredContent: { steps: 2 } })
  expect(progress).toEqual([{ progress: 1, message: 'half' }])
  expect(await client.callTool({ name: 'other', arguments: {} })).toMatchObject({ isError: true })
  await client.close()
})

it('returns a result that was cut as an error with the rest, because it may not satisfy its schema', async () => {
  const client = await connected(
    sessionOf({ data: {}, metadata: { truncated: true, output_path: '/tmp/whole' } as Outcome['metadata'] }),
  )
  await client.listTools()
  expect(await client.callTool({ name: 'steps', arguments: {} })).toEqual({
    content: [
      { type: 'text', text: '{}' }, { type: 'text', text: expect.stringContaining('/tmp/whole') },
    ],
    isError: true,
  })
  await client.close()
})

it('approves what the person approved, with the input that the person changed, once', async () => {
  const approvals = new ToolApprovals()
  const session = sessionOf({}, approvals)
  const client = await connected(session, approvals)
  const asked: string[] = []
  const canUseTool = toCanUseTool(session, {
    approvals, ask: async (name) => {
      asked.push(name)
      return { behavior: 'allow', updatedInput: { path: 'b' } }
    },
  })
  const options = { signal: new AbortController().signal, toolUseID: 'c1', requestId: 'r1' }
  const write = async (path: string) =>
    (await client.callTool({ name: 'write', arguments: { path }, _meta: { 'claudecode/toolUseId': 'c1' } })).content
  expect(await canUseTool('mcp__bulkhead__write', { path: 'a' }, options)).toMatchObject({
    updatedInput: { path: 'b' },
  })
  expect(await write('b')).toMatchObject([{ text: 'once' }])
  expect(await write('b')).toMatchObject([{ text: 'reject' }])
  await canUseTool('mcp__bulkhead__write', { path: 'a' }, options)
  expect(await write('a')).toMatchObject([{ text: 'reject' }])
  expect(await canUseTool('mcp__bulkhead__steps', {}, options)).toEqual({ behavior: 'allow', updatedInput: {} })
  // A server of a project may have the same name.
  await canUseTool('mcp__bulkhead__steps', {}, { ...options, mcpServer: { name: 'bulkhead', source: 'project' } })
  expect(asked).toEqual(['mcp__bulkhead__write', 'mcp__bulkhead__write', 'mcp__bulkhead__steps'])
  await client.close()
})
