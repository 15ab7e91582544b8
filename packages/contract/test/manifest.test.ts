import { valid as validVersion } from 'semver'
import { describe, expect, it } from 'vitest'
import { pointerStep } from '@bulkhead/kit/json'
import { MANIFEST_FILE } from '../src/model/names.ts'
import { connectedManifestSchema, manifestSchema } from '../src/validation/manifest.ts'
import { invalid, smallest, valid, whole } from './samples/manifests.ts'

const pathsOf = (value: unknown) => manifestSchema.safeParse(value).error?.issues.map((issue) =>
  issue.path.map((key) => pointerStep(String(key))).join(''))

describe('a manifest', () => {
  it('is in bulkhead.json', () => {
    expect(MANIFEST_FILE).toBe('bulkhead.json')
  })

  it.each(valid)('is accepted: %s', (_, value) => {
    expect(pathsOf(value)).toBeUndefined()
  })

  it.each(invalid)('is rejected with a path: %s', (_, value, path) => {
    expect(pathsOf(value)).toEqual([path])
  })

  it('gets default values', () => {
    expect(manifestSchema.parse(smallest)).toEqual({
      ...smallest,
      main: './index.js',
      configSchema: { type: 'object', additionalProperties: false, properties: {} },
      stateSlot: null,
      loadedCardinality: 'unlimited',
      activeCardinality: 'unlimited',
      discoveryRules: { folder: 'tools', activation: 'first-call' },
      reloadBehavior: 'between-turns',
      env: [],
      secrets: [],
      dependsOn: [],
      tools: [{ ...smallest.tools[0], requires: {}, gated: true, idempotent: false }],
    })
  })

  it('is otherwise unchanged', () => {
    expect(manifestSchema.parse(whole)).toEqual(whole)
  })

  it('has no state if stateSlot is none', () => {
    expect(manifestSchema.parse({ ...smallest, stateSlot: 'none' }).stateSlot).toBeNull()
    expect(manifestSchema.parse({ ...smallest, stateSlot: { slotVersion: '1', schema: {} } }).stateSlot)
      .toMatchObject({ driftPolicy: 'reject' })
  })

  it('rejects two tools with the same name', () => {
    const [tool] = smallest.tools
    const tools = [tool, { ...tool, name: 'other' }, tool, tool]
    const issues = manifestSchema.safeParse({ ...smallest, tools }).error?.issues
    expect(issues?.map(({ path, message }) => [path.join('/'), message])).toEqual([
      ['tools/2/name', 'another tool of this manifest has the name forecast'],
      ['tools/3/name', 'another tool of this manifest has the name forecast'],
    ])
  })

  it('of a server has at most 2,048 tools', () => {
    const tools = Array.from({ length: 2_049 }, (_, index) => ({ ...smallest.tools[0], name: `t${index}` }))
    const accepts = (count: number) =>
      connectedManifestSchema.safeParse({ ...smallest, tools: tools.slice(0, count) }).success
    expect([2_048, 2_049].map(accepts)).toEqual([true, false])
  })

  it('reports all faults', () => {
    expect(pathsOf({ ...smallest, id: 'X', version: '1', tools: [{ ...smallest.tools[0], name: '1' }] }))
      .toEqual(['/id', '/version', '/tools/0/name'])
  })

  it('has a version that semver accepts', () => {
    for (const version of ['1.0.0', '0.0.0', '10.20.30-alpha.1.x-y+b.01', '1.0.0-0a', '1.0.0--']) {
      expect(manifestSchema.safeParse({ ...smallest, version }).success).toBe(true)
      expect(validVersion(version)).not.toBeNull()
    }
    for (const version of ['v1.0.0', '1.0.0-', '1.0.0-a..b', '1.0.0+', '1.0.0-00', ' 1.0.0']) {
      expect(manifestSchema.safeParse({ ...smallest, version }).success).toBe(false)
    }
  })
})
