import { describe, expect, test } from 'vitest'
import { toolOf } from '../home-fixture.ts'
import { type Over, summary, tool } from './compared-versions.ts'

describe('definitions and capabilities', () => {
  const requires = (host: string) => ({ net: { hosts: [host] } })
  const config = (properties: Over, more: Over = {}) =>
    ({ configSchema: { type: 'object', additionalProperties: false, properties, ...more } })
  const state = (slotVersion: string, driftPolicy = 'reject') =>
    ({ stateSlot: { slotVersion, schema: {}, driftPolicy } })
  test.each<[string, Over, Over, string[]]>([
    ['nothing', {}, {}, []],
    ['a description', {}, tool({ description: 'New.' }), ['patch tool forecast /description changed']],
    ['a new tool', {}, { tools: [toolOf(), toolOf({ name: 'b' })] }, ['minor tool b  is new']],
    [
      'a new tool with powers, which an update refuses otherwise', {},
      { tools: [toolOf(), toolOf({ name: 'b', requires: requires('a.example') })] },
      ['major tool b /requires adds net: a.example; it may do more', 'minor tool b  is new'],
    ],
    [
      'a removed tool', { tools: [toolOf(), toolOf({ name: 'b' })] }, {},
      ['major tool b  was removed; calls to it fail'],
    ],
    [
      'a renamed tool', {}, tool({ name: 'b' }),
      ['major tool forecast  was renamed to b; calls to it fail', 'minor tool b  is new'],
    ],
    [
      'a wider capability', tool({ requires: requires('a.example') }), tool({ requires: requires('*.example') }),
      ['major tool forecast /requires adds net: *.example; it may do more'],
    ],
    [
      'a narrower capability', tool({ requires: requires('*.example') }), tool({ requires: requires('a.example') }),
      ['minor tool forecast /requires drops net: *.example'],
    ],
    ['a variable', {}, { env: ['LANG'] }, ['major extension  adds env: LANG; it may do more']],
    [
      'state', {}, state('1'),
      ['major extension  adds state: kept by the extension; it may do more', 'patch extension /stateSlot changed'],
    ],
    [
      'state that is rejected', state('1'), state('2'),
      ['major extension /stateSlot/slotVersion was 1, is 2; stored state is rejected'],
    ],
    [
      'state that is migrated', state('1', 'migrate'), state('2', 'migrate'),
      ['patch extension /stateSlot/slotVersion changed'],
    ],
    [
      'approval', tool({ gated: false, mode: 'local' }), tool({ mode: 'local' }),
      ['major tool forecast /gated requires approval now; calls may be denied'],
    ],
    [
      'no approval', tool({ mode: 'local' }), tool({ gated: false, mode: 'local' }),
      ['major tool forecast /gated no longer requires approval'],
    ],
    [
      'no approval of a tool without powers', {}, tool({ gated: false }),
      [
        'major tool forecast /gated no longer requires approval',
        'minor tool forecast /mode was local, is read; policies decide by it',
      ],
    ],
    [
      'a mode', tool({ mode: 'read' }), tool({ mode: 'destructive' }),
      ['major tool forecast /mode was read, is destructive; policies decide by it'],
    ],
    [
      'a mode that asks less', tool({ mode: 'local' }), tool({ mode: 'read' }),
      ['major tool forecast /mode was local, is read; policies decide by it'],
    ],
    [
      'a mode that follows from fewer powers', tool({ requires: { fs: { read: ['a'], write: ['b'] } } }),
      tool({ requires: { fs: { read: ['a'] } } }),
      [
        'minor tool forecast /requires drops fs.write',
        'minor tool forecast /mode was local, is read; policies decide by it',
      ],
    ],
    [
      'an approval key', {}, tool({ approvalKey: '{city}' }),
      ['major tool forecast /approvalKey changed; stored approvals no longer match'],
    ],
    [
      'fewer hosts', { requiredCoreVersion: '>=1.0.0' }, { requiredCoreVersion: '^1.2.0' },
      ['major extension /requiredCoreVersion was >=1.0.0, is ^1.2.0; some hosts can no longer run it'],
    ],
    [
      'more hosts', { requiredCoreVersion: '^1.2.0' }, { requiredCoreVersion: '>=1.0.0' },
      ['patch extension /requiredCoreVersion changed'],
    ],
    [
      'a newer contract', {}, { contractVersion: '1.1.0' },
      ['major extension /contractVersion was 1.0.0, is 1.1.0; some hosts can no longer run it'],
    ],
    ['an older contract', { contractVersion: '1.1.0' }, {}, ['patch extension /contractVersion changed']],
    [
      'a dependency', {}, { dependsOn: ['maps'] },
      ['major extension /dependsOn needs maps; hosts without it can no longer run it'],
    ],
    ['another id', {}, { id: 'climate' }, ['major extension /id was weather, is climate; it is another extension']],
    [
      'optional configuration', {}, config({ units: {} }),
      ['minor extension /configSchema/properties/units was not allowed, is allowed; it accepts more configurations'],
    ],
    [
      'required configuration', config({ units: {} }), config({ units: {} }, { required: ['units'] }),
      [
        'major extension /configSchema/required "units" was optional, is required; it may reject configurations that '
          + 'were valid',
      ],
    ],
  ])('give the expected level for %s', (_, before, after, lines) => expect(summary(before, after)).toEqual(lines))

  test('do not hide a change of files', () => {
    const files: [Over, Over] = [
      { 'index.js': 'a', 'bulkhead.json': 'a', 'package.json': '{"version":"1.0.0"}', 'old.js': '' },
      { 'index.js': 'b', 'bulkhead.json': 'b', 'package.json': '{"version":"1.0.1"}', 'new.js': '' },
    ]
    expect(summary({}, {}, files)).toEqual(['patch files  changed: index.js, old.js, new.js'])
  })
})
