import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BUNDLED_TOOLS } from '@bulkhead/contract'
import { manifestSchema } from '@bulkhead/contract/validation'
import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { generatedFiles, readTools } from '../scripts/generated-files.ts'
import { createBundledExtensions } from '../src/index.ts'

const ROOT = join(import.meta.dirname, '../../..')

describe('locked tools', async () => {
  it.each((await readTools(ROOT)).map((tool) => [tool.name, tool] as const))(
    '%s has the pinned schema',
    (_, { facts, pin, isPinned }) => {
      const { place, locked = false, ...pinned } = pin
      expect(isPinned).toBe(true)
      expect([typeof place, typeof locked]).toEqual(['number', 'boolean'])
      expect(facts).toEqual(pinned)
    },
  )

  it('exist exactly once, and describe every argument', () => {
    const tools = createBundledExtensions().flatMap(({ manifest }) => manifestSchema.parse(manifest).tools)
    expect(tools.map(({ name }) => name).toSorted()).toEqual(BUNDLED_TOOLS.toSorted())
    for (const { name, label, description, inputSchema } of tools) {
      expect([label, description].every((words) => words !== undefined && words.length > 2), name).toBe(true)
      for (const [argument, schema] of Object.entries(inputSchema['properties'] as JsonObject)) {
        expect((schema as JsonObject)['description'], `${name}.${argument}`).toEqual(expect.stringMatching(/\.$/))
      }
    }
  })
})

describe('what follows from the folders of the tools', async () => {
  it.each([...await generatedFiles(ROOT)])('%s is up to date', (path, text) => {
    expect(readFileSync(join(ROOT, path), 'utf8')).toBe(text)
  })
})
