import { NO_GRANT } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { powersOf } from '../../src/model/capability.ts'
import { codeOf, newSandbox, requestOf, running } from '../../../sandbox/test/fixture.ts'
import { toolOf } from '../fixture.ts'

const services = { log: () => undefined, env: new Map<string, string>(), envDeclared: new Set<string>() }

describe('the powers of a tool', () => {
  it('are those it declares and those of its extension', () => {
    expect([...powersOf(toolOf('run'), services)]).toEqual([])
    expect(
      [...powersOf(toolOf('run', { fs: { read: ['a'], write: ['b'] }, capabilities: ['interact'] }), services)],
    ).toEqual(['fs.read', 'fs.write', 'interact'])
    expect(
      [...powersOf(
        toolOf('run', { net: { hosts: ['a.example'] }, shell: [{ cmd: 'git' }], capabilities: ['tools.call'] }),
        services,
      )],
    ).toEqual(['net', 'shell', 'tools'])
    const state = { read: async () => null, write: async () => undefined }
    const secrets = new Map([['B', { value: undefined, hosts: [], commands: ['git'] }]])
    expect([...powersOf(toolOf('run'), { ...services, envDeclared: new Set(['A']), secrets, state })])
      .toEqual(['env', 'secrets', 'state'])
    expect([...powersOf(toolOf('run'), { ...services, secrets: new Map() })]).toEqual([])
  })

  it('remain when their grant is empty, so that using them is denied by name', () => {
    expect([...powersOf({ ...toolOf('run', { fs: { read: ['a'] } }), grant: NO_GRANT }, services)]).toEqual(['fs.read'])
  })

  it('keep the compartment closed if they cannot be enforced', async () => {
    const tools = [toolOf('run', { capabilities: ['tools.call'] })]
    expect(await codeOf(newSandbox().open(requestOf({ placement: 'thread', source: running(''), tools }))))
      .toBe('CapabilityUnavailable')
  })
})
