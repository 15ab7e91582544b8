import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import * as bulkhead from '../src/index.ts'

it('exports exactly the pinned names', () => {
  expect(Object.keys(bulkhead).toSorted()).toEqual([
    'BulkheadError', 'COMMAND_SAFETY_PATTERNS', 'CORE_VERSION', 'createCommandClassifier', 'createHeadlessInteractor', 'createHost', 'createProgrammaticInteractor', 'createTerminalInteractor',
    'defineTool', 'openKitPrompts', 'openSqliteStore',
  ])
})

it('exports nothing from the program', () => {
  expect(readFileSync(new URL('../src/bin.ts', import.meta.url), 'utf8')).not.toMatch(/^export/m)
})

it('has the version of its package', () => {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
  expect(bulkhead.CORE_VERSION).toBe(manifest.version)
})
