import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import * as bulkhead from '../src/index.ts'
import * as testing from '../src/testing/index.ts'
import * as matchers from '../src/testing/vitest.ts'

it('exports exactly the pinned names', () => {
  expect(Object.keys(bulkhead).toSorted()).toEqual([
    'BulkheadError', 'COMMAND_SAFETY_PATTERNS', 'CORE_VERSION', 'StepError', 'callAsStep', 'createCommandClassifier',
    'createHeadlessInteractor', 'createHost', 'createInspector', 'createProgrammaticInteractor',
    'createTerminalInteractor', 'createWorker', 'defineAgent', 'defineTool', 'openKitPrompts', 'openSqliteStore',
  ])
})

it('exports exactly the pinned names for tests', () => {
  expect(Object.keys(testing).toSorted()).toEqual(['createFakeClock', 'createScriptedApprover', 'createTestHost'])
  expect(Object.keys(matchers)).toEqual([])
})

it('imports vitest only for the matchers', () => {
  const sources = globSync('../src/{facade,testing}/**/*.ts', { cwd: import.meta.dirname })
    .filter((file) => /from 'vitest'/.test(readFileSync(join(import.meta.dirname, file), 'utf8')))
  expect(sources).toEqual(['../src/testing/vitest.ts'])
})

it('needs no optional peer for its types: it takes values of them only, which declarations leave out', () => {
  const files = globSync('../src/{facade,testing}/**/*.ts', { cwd: import.meta.dirname }).filter(
    (file) => !file.endsWith('testing/vitest.ts'),
  )
  const optional = String.raw`@bulkhead/bridges/(?:otel|acp|ai-sdk|langchain)|@opentelemetry/api|vitest`
  const importOfTypes = new RegExp(String.raw`^import (?:type|[^'\n]*\btype\b)[^']*'(?:${optional})'`, 'm')
  const typed = files.filter((file) =>
    importOfTypes.test(readFileSync(join(import.meta.dirname, file), 'utf8')))
  expect(typed).toEqual([])
})

it('exports nothing from the program', () => {
  expect(readFileSync(new URL('../src/bin.ts', import.meta.url), 'utf8')).not.toMatch(/^export/m)
})

it('has the version of its package', () => {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
  expect(bulkhead.CORE_VERSION).toBe(manifest.version)
})
