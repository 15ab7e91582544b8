import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CallToolResult, Client } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { writeExtension } from '../extension-folder.ts'
import { ERAS, servedWorld, type Person, type ServedWorld, type ServedWorldOptions } from './served-world.ts'

const worlds: ServedWorld[] = []
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.end()
})
async function open(options?: ServedWorldOptions): Promise<ServedWorld> {
  const world = await servedWorld(options)
  worlds.push(world)
  return world
}

const textOf = ({ content }: CallToolResult): string =>
  content.map((part) => (part.type === 'text' ? part.text : part.type)).join('\n')
const call = (client: Client, name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args })
const write = (client: Client) => call(client, 'write', { path: 'out.txt', content: 'x\u202e' })

// rounds.test.ts asks clients of the newer era.
for (const era of ERAS) describe(`a client of the ${era} era`, era === 'modern' ? LONG : {}, () => {
  it('lists tools with their schemas and annotations', async () => {
    const { connect } = await open()
    const client = await connect(era)
    expect(client.getInstructions()).toMatch(/approval by a person/)
    expect(client.getServerVersion()).toMatchObject({ name: 'bulkhead' })
    const { tools } = await client.listTools()
    const byName = new Map(tools.map((tool) => [tool.name, tool]))
    expect([...byName.keys()]).toEqual(expect.arrayContaining(['bash', 'edit', 'glob', 'question', 'read', 'write']))
    expect(byName.get('read')).toMatchObject({
      title: 'Read', inputSchema: { type: 'object', required: ['path'] },
      annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
    })
    expect(byName.get('read')).not.toHaveProperty('outputSchema')
    expect(byName.get('bash')).toMatchObject({
      outputSchema: { type: 'object', required: ['stdout', 'stderr', 'exit_code'] },
      annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
    })
  })

  it('gets results as content and as data, and errors as errors', async () => {
    const { connect, workspace } = await open()
    writeFileSync(join(workspace, 'notes.md'), 'hello\n')
    const client = await connect(era)
    const read = await call(client, 'read', { path: 'notes.md' })
    expect(read).toMatchObject({ structuredContent: { path: 'notes.md', content: 'hello\n' } })
    expect(JSON.parse(textOf(read))).toEqual(read.structuredContent)
    expect(read.isError).toBeUndefined()

    const missing = await call(client, 'read', { path: 'nowhere.md' })
    expect(missing).toMatchObject({ isError: true, _meta: { 'bulkhead/error': { code: 'NotFound' } } })
    expect(textOf(missing)).toMatch(/nowhere\.md/)
    const wrong = await call(client, 'read', { path: 5 })
    expect(wrong).toMatchObject({ isError: true, _meta: { 'bulkhead/error': { code: 'InputInvalid' } } })
    expect(textOf(wrong)).toMatch(/"\/path".*must be string/)
  })

  it('gets the result of a background task with that of a later call, once', async () => {
    const { promise, resolve: finish } = Promise.withResolvers<{ output: string }>()
    const { connect, host, events } = await open({ session: { mode: 'yolo' }, runAgent: () => promise })
    const client = await connect(era)
    const ended = new Promise((resolve) => host.on(resolve, ['SessionClosed']))
    const started = await call(client, 'task', { subagent_type: 'clerk', prompt: 'it', background: true })
    finish({ output: 'did it' })
    await ended
    const { session_id: id } = JSON.parse(textOf(started)) as { session_id: string }
    const [first, second] = [await call(client, 'glob', { pattern: '*' }), await call(client, 'glob', { pattern: '*' })]
    expect(textOf(first)).toContain(
      `\nThe task ${id} of the agent clerk in the background has ended: {"output":"did it"}`,
    )
    expect(textOf(second)).not.toContain('has ended')
    expect(events.filter(({ type }) => type === 'TurnBegan')).toEqual([])
  })

  it('gets a protocol error for an unknown tool', async () => {
    const { connect } = await open({ config: { tools: { glob: { enabled: false } } } })
    const client = await connect(era)
    await expect(call(client, 'reads', {})).rejects.toMatchObject({
      code: -32602, message: expect.stringMatching(/no tool "reads".*"read"/),
    })
    await expect(call(client, 'glob', { pattern: '*' })).rejects.toMatchObject({ code: -32602 })
  })

  it('asks its user, who sees the whole call and chooses how long the approval lasts', async () => {
    const { connect, workspace, host } = await open()
    const asked: string[] = []
    const answers = ['once', 'session', 'unused']
    const client = await connect(era, ({ message, requestedSchema }) => {
      asked.push(message)
      expect(requestedSchema.properties['decision']).toMatchObject({
        enum: ['once', 'session', 'session:workspace', 'later', 'reject'],
        default: 'reject',
      })
      return { action: 'accept', content: { decision: answers.shift()! } }
    })
    for (let round = 0; round < 3; round++)
      expect(await write(client)).toMatchObject({ structuredContent: { path: 'out.txt' } })
    expect(asked).toHaveLength(2)
    expect(asked[0]).toMatch(/^Allow `write` to write .*out\.txt\?\nfrom: bundled extension write \S+\n/)
    expect(asked[0]).toMatch(/^\| {3}"content": "x\\u\{?202e/m)
    expect(readFileSync(join(workspace, 'out.txt'), 'utf8')).toBe('x\u202e')
    expect(await host.approvals.list()).toMatchObject([
      { scope: 'session', tool: 'write', grantedBy: 'a person at editor 1.2.3' },
    ])
  })

  it.each<[string, Person]>([
    ['rejects', () => ({ action: 'accept', content: { decision: 'reject', reason: 'not today' } })],
    ['declines', () => ({ action: 'decline' })],
    ['dismisses it', () => ({ action: 'cancel' })],
    ['accepts without an answer', () => ({ action: 'accept' })],
    ['accepts with nothing chosen', () => ({ action: 'accept', content: {} })],
    ['gives an unknown answer', () => ({ action: 'accept', content: { decision: 'yes' } })],
    ['answers with an array', () => ({ action: 'accept', content: { decision: ['once', 'session'] } })],
    ['answers another question', () => ({ action: 'accept', content: { answer: true } })],
    ['declines with an approval as content', () => ({ action: 'decline', content: { decision: 'once' } })],
  ])('does not run a call if the user %s', async (what, person) => {
    const { connect, workspace } = await open()
    const refused = await write(await connect(era, person))
    expect(refused).toMatchObject({ isError: true, _meta: { 'bulkhead/error': { code: 'ApprovalDenied' } } })
    if (what === 'rejects') expect(textOf(refused)).toMatch(/not today/)
    expect(existsSync(join(workspace, 'out.txt'))).toBe(false)
  })

  it('that cannot ask gets gated calls refused, with advice on how to allow them', async () => {
    const { connect, workspace } = await open()
    const client = await connect(era)
    const asked = () => call(client, 'question', { questions: [{ question: 'Which?' }] })
    const advice = /cannot ask a person; .*"write" with a rule or the allowlist.*"bulkhead call write"/
    const guess = /^No person can be asked here\. Continue with your best guess/
    if (era === 'modern') {
      const lacks = { code: -32021, data: { requiredCapabilities: { elicitation: { form: {} } } } }
      await expect(write(client)).rejects.toMatchObject({ ...lacks, message: expect.stringMatching(advice) })
      await expect(asked()).rejects.toMatchObject({ ...lacks, message: expect.stringMatching(guess) })
    } else {
      const refused = await write(client)
      expect(refused).toMatchObject({ isError: true, _meta: { 'bulkhead/error': { code: 'ApprovalDenied' } } })
      expect(textOf(refused)).toMatch(advice)
      expect(textOf(await asked())).toMatch(guess)
    }
    expect(existsSync(join(workspace, 'out.txt'))).toBe(false)
  })

  it('forwards questions of tools to its user', async () => {
    const { connect } = await open()
    const forms: string[] = []
    const client = await connect(era, ({ message, requestedSchema: { properties } }) => {
      forms.push(message)
      const answers: Record<string, boolean | string> = Object.hasOwn(properties, 'option_1')
        ? { option_1: true, option_2: false, option_3: true }
        : { answer: 'enum' in properties['answer']! ? 'red' : 'because' }
      return { action: 'accept', content: answers }
    })
    const options = [{ label: 'red', description: 'like a\nrose' }, { label: 'green' }, { label: 'blue' }]
    const result = await call(client, 'question', {
      questions: [
        { question: 'Why?', header: 'Reason' }, { question: 'Which?', options },
        { question: 'All?', options, multi_select: true },
      ],
    })
    expect(result.structuredContent).toEqual({ answers: [['because'], ['red'], ['red', 'blue']] })
    expect(forms).toEqual([
      'extension question asks:\n| Reason: Why?',
      'extension question asks:\n| Which?\n| red: like a\n| rose',
      'extension question asks:\n| All?\n| red: like a\n| rose',
    ])
  })

  it('cancels exactly the call that it names', async () => {
    const running = new Map<string, { readonly signal: AbortSignal; readonly finish: (output: string) => void }>()
    const began = Promise.withResolvers<void>()
    const { connect, eventsOf } = await open({
      session: { mode: 'yolo' },
      runAgent: ({ prompt }, signal) => new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
        running.set(prompt, { signal, finish: (output) => resolve({ output }) })
        if (running.size === 2) began.resolve()
      }),
    })
    const client = await connect(era)
    const stop = new AbortController()
    const task = (prompt: string, signal?: AbortSignal) =>
      client.callTool({ name: 'task', arguments: { subagent_type: 'x', prompt } }, signal ? { signal } : undefined)
    const [taken, kept] = [task('taken', stop.signal), task('kept')]
    await began.promise
    const aborted = new Promise((resolve) => running.get('taken')!.signal.addEventListener('abort', resolve))
    stop.abort()
    await expect(taken).rejects.toThrow('aborted')
    await aborted
    expect(running.get('kept')!.signal.aborted).toBe(false)
    running.get('kept')!.finish('done')
    expect(await kept).toMatchObject({ structuredContent: { output: 'done' } })
    expect(eventsOf('ToolInvocationCancelled').map(({ callId }) => callId)).toEqual(['mcp-1'])
  })

  it('gets progress and updates if it requests them', async () => {
    const { connect, home, host } = await open()
    writeExtension(home, { id: 'steps', tools: [{ name: 'steps' }] }, `
      export default { tools: { steps: { execute: async (args, runtime) => {
        await runtime.progress('half\\u0007way')
        await runtime.update({ rows: 2 })
        return 'done'
      } } } }`)
    await host.reload()
    const client = await connect(era)
    const received: unknown[] = []
    const onprogress = (progress: unknown) => { received.push(progress) }
    expect(textOf(await client.callTool({ name: 'steps' }, { onprogress }))).toBe('done')
    // A later notification may replace a pending one. The last one is never sent after the result.
    expect(received.length).toBeGreaterThan(0)
    expect(received[0]).toMatchObject({ progress: 1, message: expect.stringMatching(/^half.*way$/) })
    expect(JSON.stringify(received)).not.toMatch(/\\u0007/)
    expect(textOf(await client.callTool({ name: 'steps' }))).toBe('done')
  })

  it('is notified when the list of tools changes', async () => {
    const { connect, home, host } = await open()
    const changed = Promise.withResolvers<readonly string[]>()
    const client = await connect(era, undefined, {
      listChanged: {
        tools: {
          onChanged: (error, tools) =>
            error ? changed.reject(error) : changed.resolve((tools ?? []).map(({ name }) => name)),
        },
      },
    })
    onTestFinished(() => changed.resolve([]))
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('late')
    writeExtension(
      home, { id: 'late', tools: [{ name: 'late' }] }, 'export default { tools: { late: { execute: () => 1 } } }',
    )
    await host.reload()
    expect(await changed.promise).toContain('late')
  })

  it('cancels all its calls when it disconnects', async () => {
    const began = Promise.withResolvers<AbortSignal>()
    const { connect, serving, eventsOf } = await open({
      session: { mode: 'yolo' }, runAgent: (_, signal) => new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
        began.resolve(signal)
      }),
    })
    const client = await connect(era)
    const lost = call(client, 'task', { subagent_type: 'x', prompt: 'y' })
    lost.catch(() => {})
    const signal = await began.promise
    await client.close()
    await serving.closed
    await expect(lost).rejects.toThrow('closed')
    expect(signal.aborted).toBe(true)
    // The sub-agent's, and the client's.
    expect(eventsOf('SessionClosed')).toHaveLength(2)
    await serving.close()
  })
})
