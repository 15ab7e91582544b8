import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createHost, defineTool, type BulkheadEvent, type Host } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { writeExtension } from './extension-folder.ts'
import { joined } from './joined.ts'

let folder: string
let host: Host
const open = (config = {}) =>
  createHost({ workspace: join(folder, 'work'), home: join(folder, 'home'), cache: CACHE, env: {}, config })
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-own-tools-'))
  for (const name of ['work', 'other', 'home']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'work/notes.md'), 'one two\n')
  host = await open()
})
afterEach(async () => {
  for (const name of ['price', 'count_words']) await host.unregister(name)
})
afterAll(async () => {
  await host.close()
  rmSync(folder, { recursive: true })
})

const price = defineTool({
  name: 'price', description: 'Looks up the price of an article.', mode: 'read', gated: false,
  input: z.object({ article: z.string(), currency: z.enum(['EUR', 'USD']).default('EUR') }),
  execute: ({ article, currency }) => ({ text: `${article.toUpperCase()} 5 ${currency}` }),
})
const words = defineTool({
  name: 'count_words', description: 'Counts the words of a file.', mode: 'read',
  input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'], additionalProperties: false },
  requires: { fs: { read: ['{workspace}/**/*.md'] } },
  async execute({ path }, { fs }) {
    const text = await fs.readText(path)
    return text.split(/\s+/).filter(Boolean).length
  },
})

const call = async (name: string, args: object) => {
  const session = await host.openSession({ mode: 'yolo' })
  return session.call({ id: 'c', name, arguments: args })
}

describe('a function that is registered as a tool', () => {
  it('is offered with its schema, and gets parsed arguments', async () => {
    await host.register(price)
    expect(host.tool('price')).toMatchObject({ layer: 'bundled', extension: 'price', mode: 'read' })
    expect(host.tool('price')!.inputSchema).toMatchObject({
      required: ['article'], properties: { currency: { default: 'EUR' } },
    })
    expect(await call('price', { article: 'rope' })).toMatchObject({ type: 'output', data: { text: 'ROPE 5 EUR' } })
    expect(await call('price', { article: 1 })).toMatchObject({ type: 'error', error: { code: 'InputInvalid' } })
  })

  it('has only the powers that it declares, and is judged and recorded like any other', async () => {
    await host.register([price, words])
    expect(await call('count_words', { path: 'notes.md' })).toMatchObject({ data: 2 })
    expect(await call('count_words', { path: '/etc/hostname' })).toMatchObject({ error: { code: 'CapabilityDenied' } })
    const events: BulkheadEvent[] = []
    host.on((event) => events.push(event), ['ToolInvocationDecided'])
    const session = await host.openSession({ rules: [{ permission: 'count_words', pattern: '*', action: 'deny' }] })
    expect(await session.call({ id: 'd', name: 'count_words', arguments: { path: 'notes.md' } }))
      .toMatchObject({ error: { code: 'RuleDenied' } })
    expect(events).toMatchObject([{ tool: 'count_words', decision: 'deny' }])
  })

  it('stays after a reload and in another folder, until it is unregistered', async () => {
    await host.register([price, words])
    await host.reload()
    expect(await host.unregister('price', 'global')).toBe(false)
    await host.switchWorkspace(join(folder, 'other'))
    expect(await call('price', { article: 'rope' })).toMatchObject({ type: 'output' })
    await host.switchWorkspace(join(folder, 'work'))
    expect(await host.unregister('count_words')).toBe(true)
    expect(await host.unregister('count_words')).toBe(false)
    expect(host.tool('count_words')).toBeUndefined()
    expect(host.tool('price')).toBeDefined()
  })

  it('can be disabled by its name', async () => {
    const strict = await open({
      tools: { price: { enabled: false } }, extensions: { 'count-words': { enabled: false } },
    })
    await strict.register([price, words])
    expect([strict.tool('price'), strict.tool('count_words')]).toEqual([undefined, undefined])
    await strict.close()
  })
})

describe('register', () => {
  const without = (...keys: readonly string[]) =>
    Object.fromEntries(Object.entries(words).filter(([key]) => !keys.includes(key)))
  it.each([
    [undefined, 'ConfigInvalid', /^register takes tools.*neither\.$/], [5, 'ConfigInvalid', /neither\.$/],
    [{}, 'ConfigInvalid', /neither\.$/],
    [without('name'), 'ConfigInvalid', /The tool has no name\.$/],
    [without('execute'), 'ConfigInvalid', /neither\.$/],
    [
      { ...words, name: 'count words' }, 'ShapeInvalid',
      /^The tool "count words" cannot be registered: \/name must be a letter/,
    ],
    [
      { ...words, approvalKey: () => 'words' }, 'ShapeInvalid',
      joined(
        /"approvalKey" of the tool "count_words" cannot be a function\. Its functions are execute, /,
        /deriveApprovalKey and revert\.$/,
      ),
    ],
    [
      { ...words, deriveApprovalkey: () => 'words' }, 'ShapeInvalid',
      /"deriveApprovalkey" of the tool "count_words" cannot be a function/,
    ],
    [without('description'), 'ShapeInvalid', /^The tool "count_words" cannot be registered: .*description/],
    [
      { ...words, input: { type: 'strin' } }, 'ShapeInvalid',
      /^The tool "count_words" cannot be registered: \/input\/type is wrong/,
    ],
    [{ ...words, requires: { fs: { read: ['{home}/x'] } } }, 'RequirementInvalid', /\{home\}/],
    [{ ...words, modes: 'read' }, 'ShapeInvalid', /modes/],
    [
      { ...words, name: 'read' }, 'RegistrationConflict',
      /^The tool "read" cannot be registered: the bundled extension "read" offers/,
    ],
    [
      [price, { ...words, name: 'Price' }], 'RegistrationConflict',
      /"Price" cannot be registered: another of these tools/,
    ],
  ])('refuses %o, and changes nothing', async (given, code, message) => {
    const before = host.tools().map(({ name }) => name)
    await expect(host.register(given as never)).rejects.toMatchObject({
      name: 'BulkheadError', code, message: expect.stringMatching(message),
    })
    expect(host.tools().map(({ name }) => name)).toEqual(before)
  })

  it('refuses a name that is taken, by a tool of its own or of an installed extension', async () => {
    await host.register(price)
    await expect(host.register(price)).rejects.toMatchObject({
      code: 'RegistrationConflict', message: expect.stringContaining('Unregister it first'),
    })
    expect(host.tool('price')).toBeDefined()
    writeExtension(
      join(folder, 'home'), { id: 'counter', tools: [{ name: 'count_words' }] },
      'export default { tools: { count_words: { execute: () => 0 } } }',
    )
    await host.reload()
    await expect(host.register(words)).rejects.toMatchObject({
      code: 'RegistrationConflict',
      message: expect.stringContaining('the global extension "counter" offers a tool with this name'),
    })
    expect(host.tool('count_words')).toMatchObject({ extension: 'counter', shadows: [] })
  })
})
