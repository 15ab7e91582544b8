import { describe, expect, it } from 'vitest'
import { LOCKED_TOOLS, TOOL_KINDS, TOOL_MODES, type ToolMode } from '../src/model/names.ts'
import { LOCKED_MODES } from '../src/model/tool-names.ts'
import type { RequirementSet } from '../src/validation/requirements.ts'
import { classifyToolMode } from '../src/policy/requirements.ts'

describe('the mode of a tool', () => {
  it.each<[string, RequirementSet | undefined, ToolMode]>([
    ['get_user', undefined, 'read'], ['list_users', undefined, 'read'], ['read_mail', undefined, 'read'],
    ['search_mail', undefined, 'read'],
    ['create_event', undefined, 'safe_write'], ['update_event', undefined, 'safe_write'],
    ['add_user', undefined, 'safe_write'],
    ['set_flag', undefined, 'safe_write'],
    ['delete_event', undefined, 'destructive'], ['remove_user', undefined, 'destructive'],
    ['archive_mail', undefined, 'destructive'], ['drop_table', undefined, 'destructive'],
    ['local_open', undefined, 'local'], ['shell_run', undefined, 'local'], ['exec_script', undefined, 'local'],
    ['getuser', undefined, 'local'], ['forecast', undefined, 'local'], ['Get_user', undefined, 'local'],
    ['widget_list_', undefined, 'local'], ['calendar_add_event', undefined, 'local'],
    ['table_drop_row', undefined, 'local'],
    ['remote_exec_script', { net: { hosts: ['a.test'] } }, 'external'],
    ['delete_event', { net: { hosts: ['a.test'] } }, 'destructive'],
    ['add_user', { shell: [{ cmd: 'git' }] }, 'safe_write'],
    ['exec_script', { fs: { read: ['**'] } }, 'local'],
    ['forecast', { net: { hosts: ['a.test'] } }, 'external'],
    ['summarise', { fs: { read: ['**'] } }, 'read'],
    ['summarise', { fs: { read: ['**'], write: ['out'] } }, 'local'],
    ['deploy', { shell: [{ cmd: 'git' }], net: { hosts: ['a.test'] } }, 'local'],
    ['orchestrate', { capabilities: ['tools.call'] }, 'local'],
    ['orchestrate', { capabilities: ['tools.call'], net: { hosts: ['a.test'] } }, 'local'],
    ['ask', { capabilities: ['interact'] }, 'local'],
  ])('%s with %j: %s', (name, requires, mode) => {
    expect(classifyToolMode({ name, requires })).toBe(mode)
  })

  it.each<[RequirementSet, ToolMode]>([
    [{ shell: [{ cmd: 'sh' }] }, 'local'], [{ fs: { write: ['a'] } }, 'local'],
    [{ net: { hosts: ['a.test'] } }, 'external'],
    [{ fs: { read: ['a'] } }, 'read'],
  ])('a name cannot lower the mode of %j: %s', (requires, mode) => {
    expect(classifyToolMode({ name: 'read_config', requires })).toBe(mode)
  })

  it('is taken from the manifest first', () => {
    for (const mode of TOOL_MODES)
      expect(classifyToolMode({ name: 'delete_all', mode, requires: { fs: { read: ['a'] } } })).toBe(mode)
  })

  it.each<[RequirementSet, { readonly env?: readonly string[]; readonly secrets?: readonly object[] }, ToolMode]>([
    [{ fs: { read: ['a'] } }, {}, 'read'], [{}, {}, 'read'], [{ fs: { read: ['a'] } }, { env: ['TOKEN'] }, 'local'],
    [{}, { secrets: [{ name: 'TOKEN' }] }, 'local'], [{ net: { hosts: ['a.test'] } }, {}, 'external'],
    [{ fs: { write: ['a'] } }, {}, 'local'], [{ shell: [{ cmd: 'sh' }] }, {}, 'local'],
    [{ capabilities: ['tools.call'] }, {}, 'local'], [{ capabilities: ['session'] }, {}, 'local'],
    [{ fs: { read: ['a'] }, capabilities: ['interact'] }, {}, 'local'],
  ])(
    'read counts only for a tool that requires no more than to read files: %j %j is %s',
    (requires, extension, mode) => {
      expect(classifyToolMode({ name: 'look', mode: 'read', requires }, extension)).toBe(mode)
      expect(classifyToolMode({ name: 'get_it', requires }, extension)).toBe(mode)
    },
  )

  it('is read for an ungated tool that can do nothing but answer', () => {
    const nothing = { requires: {} }
    const of = (extension: Parameters<typeof classifyToolMode>[1], gated = false) =>
      classifyToolMode({ name: 'exec_words', requires: {}, gated }, extension)
    expect(of({ tools: [nothing] })).toBe('read')
    expect(of({ tools: [nothing] }, true)).toBe('local')
    for (const more of [{ env: ['A'] }, { secrets: [{}] }, { stateSlot: {} }, { tools: undefined as never }]) {
      expect(of({ tools: [nothing], ...more })).toBe('local')
    }
    for (const requires of [
      { fs: { read: ['a'] } }, { capabilities: ['session' as const] }, { capabilities: ['tools.call' as const] },
    ]) {
      expect(of({ tools: [nothing, { requires }] })).toBe('local')
    }
  })

  it('is fixed for the locked tools', () => {
    for (const name of LOCKED_TOOLS) {
      expect(classifyToolMode({ name, requires: { shell: [{ cmd: 'sh' }] } }), name).toBe(LOCKED_MODES[name])
    }
    expect(LOCKED_MODES).toMatchObject({ read: 'read', write: 'safe_write', bash: 'local', web_fetch: 'external' })
  })

  it('has these values', () => {
    expect(TOOL_MODES).toEqual(['read', 'safe_write', 'destructive', 'local', 'external'])
    expect(TOOL_KINDS).toEqual([
      'read', 'edit', 'delete', 'move', 'search', 'execute', 'think', 'fetch', 'switch_mode', 'other',
    ])
  })
})
