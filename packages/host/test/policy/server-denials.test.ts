import type { LayerConfig, Rule } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { deniedToServer } from '../../src/policy/server-denials.ts'
import { agreeable, createWorld, sketchExtension, verdictOf } from '../twin/world.ts'

const rule = (permission: string, pattern: string, action: Rule['action']): Rule => ({ permission, pattern, action })

/** Whether the server may read a file of the workspace. */
function maySee(file: string, rules: readonly Rule[], ofProject: readonly Rule[] = []): boolean {
  const layers: readonly LayerConfig[] = [
    { layer: 'global', location: 'user', config: { rules: [...rules] } },
    { layer: 'project', location: 'project', config: { rules: [...ofProject] } },
  ]
  const denied = deniedToServer({
    config: { merged: {}, layers }, variables: { workspace: ['/shop'] }, tools: ['mcp:ship:*', 'ship_*'],
    ignored: undefined,
  })
  return denied?.ruleFor('fs.read', `/shop/${file}`) === undefined
}

describe('a local server', () => {
  it.each<[string, readonly Rule[]]>([
    ['a file that a rule for files denies', [rule('fs.read', 'secrets/**', 'deny')]],
    ['a file that is denied to one of its tools', [rule('mcp:ship:count', 'secrets/**', 'deny')]],
    ['a file that is denied to every tool', [rule('*', 'secrets/**', 'deny')]],
    ['a file, if all of its calls are denied', [rule('*', '*', 'deny')]],
    ['a file, if a capability is denied', [rule('fs.read', '*', 'deny'), rule('ship_count', '*', 'allow')]],
  ])('does not see %s', (_, rules) => {
    expect(maySee('secrets/key', rules)).toBe(false)
  })

  it.each<[string, readonly Rule[]]>([
    ['another file', [rule('fs.read', 'secrets/**', 'deny')]],
    ['its files, if calls of one of its tools are denied', [rule('mcp:ship:count', '*', 'deny')]],
    ['its files, if its tools alone are allowed', [rule('*', '*', 'deny'), rule('mcp:ship:echo', '*', 'allow')]],
    ['a file that is denied to another tool', [rule('read', 'src/**', 'deny')]],
  ])('sees %s', (_, rules) => {
    expect(maySee('src/a.ts', rules)).toBe(true)
  })

  it('does not see files because a project allows what the user denies', () => {
    expect(maySee('src/a.ts', [rule('*', '*', 'deny')], [rule('mcp:ship:echo', '*', 'allow')])).toBe(false)
  })
})

it.each([
  [['a.example', 'b.example'], 'output'], [['a.example'], 'CapabilityDenied'],
])('under a ceiling of %j, the outcome of a server that reaches two hosts is %s', async (hosts, verdict) => {
  const { host, sandbox } = createWorld()
  const requires = { net: { hosts: ['a.example', 'b.example'] } }
  const { descriptor, module } = sketchExtension({ id: 'ship', inline: true, tools: { ship_go: { requires } } })
  sandbox.add('global/ship/1.0.0', module)
  await host.register([{ ...descriptor, server: { kind: 'mcp', name: 'ship', address: 'a', tools: new Map() } }])
  const session = await host.openSession({ ...agreeable, ceiling: { net: { hosts } } })
  expect(verdictOf(await session.call({ id: 'c', name: 'ship_go', arguments: {} }))).toBe(verdict)
})
