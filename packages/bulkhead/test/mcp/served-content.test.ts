import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { InMemoryTransport } from '@modelcontextprotocol/server'
import { serveTools, type PromptSource, type ResourceSource, type ServeOptions } from '@bulkhead/bridges/mcp'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openKitPrompts } from '../../src/index.ts'
import { writeExtension } from '../extension-folder.ts'
import { clientOf, ERAS, servedWorld, type Era, type Person, type ServedWorld } from './served-world.ts'

const MEDIA = [
  { type: 'text', text: 'a' },
  { type: 'image', data: 'AAAA', mimeType: 'image/png' },
  { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
  { type: 'resource', resource: { uri: 'test://text', mimeType: 'text/csv', text: 'a,b' } },
  { type: 'resource', resource: { uri: 'test://bytes', blob: 'AAAA' } },
  { type: 'resource_link', uri: 'test://link', name: 'link', title: 'Link' },
]
const CODE = `export default { tools: {
  media: { execute: () => ({ content: ${JSON.stringify(MEDIA)} }) },
  long: { execute: () => '\u00e9'.repeat(800_000) },
  chatty: { async execute(_, runtime) {
    runtime.log.debug('small')
    runtime.log.info('first')
    runtime.log.warn('second')
    for (const progress of [0, 50, 100]) {
      runtime.update({ progress, total: 100 })
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return 'done'
  } },
} }`
const LEVEL = 'io.modelcontextprotocol/logLevel'

let home: string
let world: ServedWorld
beforeAll(async () => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-content-')))
  writeExtension(home, { id: 'media', tools: [{ name: 'media' }, { name: 'long' }, { name: 'chatty' }] }, CODE)
  writeSkill('moor', '# Moor\n')
  world = await servedWorld({ home })
})
afterAll(async () => {
  await world.end()
  rmSync(home, { recursive: true })
})

/** A client with its own session at the one host. */
async function connect(era: Era, serve: Partial<ServeOptions> = {}, person?: Person): Promise<Client> {
  const [here, there] = InMemoryTransport.createLinkedPair()
  const { host } = world
  const serving = await serveTools(host, {
    info: { name: 'bulkhead', version: '1.0.0' }, transport: here,
    openSession: (interactor) => host.openSession({ interactor }), ...serve,
  })
  onTestFinished(() => serving.close())
  const client = clientOf(era, person)
  await client.connect(there)
  return client
}

function writeSkill(name: string, body: string): void {
  const folder = join(home, 'skills', name)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'SKILL.md'), `---\nname: ${name}\ndescription: How to ${name}.\n---\n${body}`)
}

describe.each(ERAS)('a client of the %s era', (era) => {
  it('gets every kind of content, and what the tools of its calls log', async () => {
    const client = await connect(era)
    expect((await client.callTool({ name: 'media', arguments: {} })).content).toEqual(MEDIA)

    const lines: unknown[] = []
    client.setNotificationHandler(
      'notifications/message', ({ params: { level, logger, data } }) => void lines.push([level, logger, data]),
    )
    const progress: unknown[] = []
    const onprogress = (one: object) => void progress.push(one)
    const chatty = (_meta = {}) => client.callTool({ name: 'chatty', arguments: {}, _meta }, { onprogress })
    if (era === 'legacy') await client.setLoggingLevel('info')
    await chatty(era === 'legacy' ? {} : { [LEVEL]: 'info' })
    expect(lines).toEqual([['info', 'chatty', 'first'], ['warning', 'chatty', 'second']])
    expect(progress).toEqual([0, 50, 100].map((at) => ({ progress: at, total: 100 })))

    // In the newer era a request without a level gets no log.
    lines.length = 0
    if (era === 'legacy') await client.setLoggingLevel('warning')
    await chatty()
    expect(lines).toEqual(era === 'legacy' ? [['warning', 'chatty', 'second']] : [])
  })

  it('reads the skills of its session, and completes their names', async () => {
    const client = await connect(era)
    const { resources } = await client.listResources()
    expect(resources).toEqual([
      { uri: 'skill://moor/SKILL.md', name: 'moor', description: 'How to moor.', mimeType: 'text/markdown' },
    ])
    expect((await client.readResource({ uri: 'skill://moor/SKILL.md' })).contents)
      .toEqual([{ uri: 'skill://moor/SKILL.md', mimeType: 'text/markdown', text: '# Moor\n' }])
    const { resourceTemplates } = await client.listResourceTemplates()
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'skill://{name}/SKILL.md', 'bulkhead://results/{call}{?from}',
    ])
    const complete = (value: string) => client.complete({
      ref: { type: 'ref/resource', uri: 'skill://{name}/SKILL.md' }, argument: { name: 'name', value },
    })
    expect(await complete('Mo')).toMatchObject({ completion: { values: ['moor'], total: 1, hasMore: false } })
    expect(await complete('x')).toMatchObject({ completion: { values: [] } })
    for (const uri of [
      'skill://none/SKILL.md', 'skill://../SKILL.md', 'file:///etc/passwd', 'bulkhead://results/mcp-1',
      'x'.repeat(5_000),
    ]) {
      await expect(client.readResource({ uri })).rejects.toMatchObject({
        code: -32602, data: { uri: uri.slice(0, 2_048) },
      })
    }
    const denied = await connect(era, {
      openSession: (interactor) => world.host.openSession({ interactor, tools: ['read'] }),
    })
    expect(await denied.listResources()).toMatchObject({ resources: [] })
    await expect(denied.readResource({ uri: 'skill://moor/SKILL.md' })).rejects.toMatchObject({ code: -32602 })
  })

  it('reads its own long results in parts, and learns of new ones', async () => {
    const [client, other] = [await connect(era), await connect(era)]
    const changed = Promise.withResolvers<void>()
    client.setNotificationHandler('notifications/resources/list_changed', () => changed.resolve())
    if (era === 'modern') await client.listen({ resourcesListChanged: true })
    await client.callTool({ name: 'long', arguments: {} })
    await changed.promise
    const { resources } = await client.listResources()
    const { uri } = resources.at(-1)!
    expect(uri).toBe('bulkhead://results/mcp-1')
    let text = ''
    let next: unknown = uri
    for (let parts = 0; typeof next === 'string' && parts < 5; parts++) {
      const [part] = (await client.readResource({ uri: next })).contents
      const { text: more, _meta: about } = part as { readonly text: string; readonly _meta?: Record<string, unknown> }
      text += more
      next = about?.['bulkhead/next']
    }
    expect(text === '\u00e9'.repeat(800_000)).toBe(true)
    await expect(other.readResource({ uri })).rejects.toMatchObject({ code: -32602 })
    expect((await other.listResources()).resources.map((one) => one.uri)).not.toContain(uri)
  })

  it('gets kits as prompts, also those of the user', async () => {
    mkdirSync(join(home, 'kits'), { recursive: true })
    writeFileSync(join(home, 'kits', 'greet.yaml'), 'description: Greets.\ntext: Hello!\n')
    writeFileSync(join(home, 'kits', 'wrong.yaml'), 'description: Lacks a text.\n')
    const faults: string[] = []
    const client = await connect(era, {
      prompts: [await openKitPrompts({ home })], onFault: ({ message }) => void faults.push(message),
    })
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ name }) => name)).toEqual(['code-quality', 'debug', 'greet', 'project-setup', 'tdd'])
    expect(prompts[4]!.arguments).toEqual([
      { name: 'task', description: 'What to build or fix.', required: true },
      { name: 'runner', description: 'The test runner.' },
    ])
    expect(faults).toEqual([
      expect.stringMatching(/The kit .*wrong\.yaml is left out: "description" and "text" must be/),
    ])
    const { messages: [message] } = await client.getPrompt({ name: 'tdd', arguments: { task: 'Parse {{runner}}' } })
    expect(message!.content).toMatchObject({
      type: 'text',
      text: expect.stringMatching(/^Task: Parse \{\{runner\}\}\n\nWork test first, with the test runner that/),
    })
    expect(
      await client.complete({ ref: { type: 'ref/prompt', name: 'tdd' }, argument: { name: 'runner', value: 'py' } }),
    ).toMatchObject({ completion: { values: ['pytest'] } })
  })

  it('gets resources and prompts of the embedder', async () => {
    let changed: (uri?: string) => void = () => undefined
    let promptsChanged = () => undefined as void
    const resources: ResourceSource = {
      list: async () => [{ uri: 'test://a', name: 'a' }],
      read: async (uri) =>
        uri === 'test://a'
          ? { uri, blob: 'AAAA' }
          : uri === 'test://big'
            ? { uri, text: 'x'.repeat(9_000_000) }
            : undefined,
      watch(listener) {
        changed = listener
        return () => undefined
      },
    }
    const prompts: PromptSource = {
      list: async () => [
        { name: 'greet', arguments: [{ name: 'who', required: true }, { name: 'how' }] }, { name: 'broken' },
      ],
      async get(name, args) {
        if (name === 'broken') throw new Error('no disk')
        return {
          messages: [
            { role: 'user', content: { type: 'text', text: `Greet ${args.get('who')}.` } },
            { role: 'assistant', content: { type: 'resource', uri: 'test://a', text: 'inside' } },
          ],
        }
      },
      complete: async (_name, argument) =>
        argument === 'how' ? Array.from({ length: 150 }, (_, index) => `way-${index}`) : [],
      watch(listener) {
        promptsChanged = listener
        return () => undefined
      },
    }
    const client = await connect(era, { resources: [resources], prompts: [prompts] })
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toContain('test://a')
    expect((await client.readResource({ uri: 'test://a' })).contents).toEqual([{ uri: 'test://a', blob: 'AAAA' }])
    await expect(client.readResource({ uri: 'test://big' })).rejects.toThrow(/more than the limit/)

    expect((await client.listPrompts()).prompts).toHaveLength(2)
    expect((await client.getPrompt({ name: 'greet', arguments: { who: 'Ada' } })).messages).toEqual([
      { role: 'user', content: { type: 'text', text: 'Greet Ada.' } },
      { role: 'assistant', content: { type: 'resource', resource: { uri: 'test://a', text: 'inside' } } },
    ])
    await expect(client.getPrompt({ name: 'greet' })).rejects.toThrow('The prompt needs further arguments: who.')
    await expect(client.getPrompt({ name: 'none' })).rejects.toMatchObject({ code: -32602 })
    await expect(client.getPrompt({ name: 'broken' })).rejects.toMatchObject({
      code: -32603, message: expect.stringContaining('no disk'),
    })
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'how', value: 'WAY-' },
    })
    expect(completion).toMatchObject({ total: 150, hasMore: true })
    expect(completion.values).toHaveLength(100)
    await expect(
      client.complete({ ref: { type: 'ref/prompt', name: 'none' }, argument: { name: 'how', value: '' } }),
    ).rejects.toMatchObject({ code: -32602 })

    const seen: string[] = []
    client.setNotificationHandler('notifications/resources/updated', ({ params: { uri } }) => void seen.push(uri))
    client.setNotificationHandler('notifications/prompts/list_changed', () => void seen.push('prompts'))
    if (era === 'modern') await client.listen({ resourceSubscriptions: ['test://a'], promptsListChanged: true })
    else await client.subscribeResource({ uri: 'test://a' })
    changed('test://b')
    changed('test://a')
    promptsChanged()
    await client.listPrompts()
    expect(seen).toEqual(['test://a', 'prompts'])

    // In the newer era a person is asked for missing arguments.
    const asking = await connect(era, { prompts: [prompts] }, (form) => ({
      action: 'accept', content: { [Object.keys(form.requestedSchema.properties)[0]!]: 'Bo' },
    }))
    const asked = asking.getPrompt({ name: 'greet' })
    if (era === 'modern') expect((await asked).messages[0]).toMatchObject({ content: { text: 'Greet Bo.' } })
    else await expect(asked).rejects.toThrow('needs further arguments')
    const declining = await connect(era, { prompts: [prompts] }, () => ({ action: 'decline' }))
    await expect(declining.getPrompt({ name: 'greet' })).rejects.toThrow('needs further arguments')
  })
})
