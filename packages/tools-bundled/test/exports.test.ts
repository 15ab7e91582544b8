import { expect, it } from 'vitest'
import * as tools from '../src/index.ts'

it('exports exactly these names', () => {
  expect(Object.keys(tools).toSorted())
    .toEqual(['SHELF_THRESHOLD', 'ToolShelf', 'argumentsReaders', 'bundledExtensions', 'composeSections', 'createBundledExtensions', 'createKitPrompts', 'describeTools', 'loadLateCode', 'readGuidance', 'readKits', 'readSkillHead'])
})
