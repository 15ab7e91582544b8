import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import * as tools from '../src/index.ts'

it('exports exactly these names', () => {
  expect(Object.keys(tools).toSorted()).toEqual([
    'SHELF_THRESHOLD', 'ToolShelf', 'argumentsReaders', 'bundledExtensions', 'composeSections',
    'createBundledExtensions', 'createKitPrompts', 'describeTools', 'loadLateCode', 'readGuidance', 'readKits',
    'readSkillHead',
  ])
})

it('the tools have the version of their package', () => {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  const versions = tools.bundledExtensions.map(({ manifest }) => [manifest.version, manifest.requiredCoreVersion])
  expect(new Set(versions.flat())).toEqual(new Set([version, `^${version}`]))
})
