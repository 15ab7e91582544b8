import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { generatedFiles } from '../scripts/generated-files.ts'
import { LONG } from '../../../scripts/thoroughly.ts'
import { agentManifestSchema } from '../src/validation/agent.ts'
import { configFileSchema } from '../src/validation/config.ts'
import { ERRORS } from '../src/model/errors.ts'
import { EVENT_TYPES } from '../src/model/events.ts'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { manifestSchema } from '../src/validation/manifest.ts'
import { invalidAgents, validAgents } from './samples/agents.ts'
import { invalidConfigs, validConfigs } from './samples/configs.ts'
import { invalid, valid } from './samples/manifests.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const schemaOf = async (name: string) =>
  JSON.parse(await readFile(new URL(`../schema/${name}.schema.json`, import.meta.url), 'utf8')) as JsonObject

describe('generated files', () => {
  const files = [...generatedFiles(root)].map(([path, text]) => [path.slice(root.length), path, text] as const)
  it.each(files)('%s is up to date', async (_, path, text) => {
    expect(await readFile(path, 'utf8')).toBe(text)
  })

  describe('in another folder', () => {
    let folder: string
    const generate = (...args: string[]) => new Promise<{ code: number | null; output: string }>((settle) => {
      const script = fileURLToPath(new URL('../scripts/generate.ts', import.meta.url))
      const child = execFile(process.execPath, [script, '--root', folder, ...args],
        (_, stdout, stderr) => settle({ code: child.exitCode, output: stdout + stderr }))
    })
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'bulkhead-generate-'))
    })
    afterAll(() => rm(folder, { recursive: true, force: true }))

    it('are written, reported as equal, and as different or missing', LONG, async () => {
      const [changed, removed] = [join('docs', 'reference', 'errors.md'), join('docs', 'reference', 'events.md')]
      expect(await generate()).toMatchObject({ code: 0 })
      expect(await generate('--check')).toEqual({ code: 0, output: '' })
      await writeFile(join(folder, changed), 'something else')
      await rm(join(folder, removed))
      const { code, output } = await generate('--check')
      expect(code).toBe(1)
      expect(output.trim().split('\n')).toHaveLength(2)
      for (const page of [changed, removed]) expect(output).toContain(`${page} differs from its source`)
    })
  })
})

it('the example of docs/reference/configuration.md is a configuration', async () => {
  const page = await readFile(join(root, 'docs', 'reference', 'configuration.md'), 'utf8')
  expect(configFileSchema.safeParse(JSON.parse(/^```json\n([\s\S]*?)^```/m.exec(page)![1]!)).error).toBeUndefined()
})

it.each([
  ['manifest.md', Object.keys(manifestSchema.shape)], ['configuration.md', Object.keys(configFileSchema.shape)],
  ['agent.md', Object.keys(agentManifestSchema.shape)],
])('docs/reference/%s has a row for each key', async (name, keys) => {
  const page = await readFile(join(root, 'docs', 'reference', name), 'utf8')
  const rows = [...page.matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1])
  expect(rows).toEqual(keys.filter((key) => key !== '$schema'))
})

it('docs/reference/errors.md has one anchor for each error, in the order of the table', async () => {
  const page = await readFile(join(root, 'docs', 'reference', 'errors.md'), 'utf8')
  expect([...page.matchAll(/^### (.+)$/gm)].map((match) => match[1])).toEqual(Object.keys(ERRORS))
})

it('docs/reference/events.md has the fields of each event', async () => {
  const page = await readFile(join(root, 'docs', 'reference', 'events.md'), 'utf8')
  expect([...page.matchAll(/^### (.+)$/gm)].map((match) => match[1])).toEqual(EVENT_TYPES)
  const [, decided = ''] = /^### ToolInvocationDecided\n([\s\S]*?)^###/m.exec(page) ?? []
  expect([...decided.matchAll(/^\| `(\w+)/gm)].map((match) => match[1])).toEqual([
    'sessionId', 'principal', 'callId', 'tool', 'origin', 'decision', 'stage', 'source', 'reason', 'approvalKey',
    'arguments', 'args', 'parentCallId', 'program', 'use',
  ])
})

describe.each([
  ['manifest', valid, invalid],
  ['config', validConfigs, invalidConfigs],
  ['agent', validAgents, invalidAgents],
] as const)('the JSON Schema of a %s', (name, good, bad) => {
  it('accepts and rejects the same samples as the contract', async () => {
    const ajv = new Ajv2020({ strict: true, strictRequired: false, allErrors: true, allowUnionTypes: true })
    formats.default(ajv)
    const accepts = ajv.compile(await schemaOf(name))
    expect(good.filter(([, value]) => !accepts(value)).map(([title]) => title)).toEqual([])
    expect(bad.filter(([, value]) => accepts(value)).map(([title]) => title)).toEqual([])
  })

  it('has a title and a description of every property, for editors', async () => {
    const schema = await schemaOf(name)
    expect(schema)
      .toMatchObject({
        $schema: 'https://json-schema.org/draft/2020-12/schema', $id: `urn:bulkhead:contract:1:${name}`,
      })
    expect([schema['title'], schema['description']].every((text) => typeof text === 'string' && text !== '')).toBe(true)
    expect(undescribed(schema, '')).toEqual([])
  })
})

function undescribed(schema: Json, path: string): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap((part: Json, index) => undescribed(part, `${path}/${index}`))
  if (!isJsonObject(schema)) return []
  const { properties, default: _, ...rest } = schema
  const own = isJsonObject(properties) ? Object.entries(properties) : []
  return [
    ...own.filter(([, property]) => !isJsonObject(property) || typeof property['description'] !== 'string')
      .map(([key]) => `${path}/${key}`),
    ...own.flatMap(([key, property]) => undescribed(property, `${path}/${key}`)),
    ...Object.entries(rest).flatMap(([key, part]) => undescribed(part, `${path}/${key}`)),
  ]
}
