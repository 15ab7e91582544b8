import { describe, expect, it } from 'vitest'
import {
  canonicalCall, canonicalToolName, expandToolNames, renameArguments, toolsSelectedBy,
} from '../../src/dialects/names.ts'
import { LOCKED_TOOLS } from '../../src/model/names.ts'

const registry = (...names: string[]) => (name: string) => new Set<string>([...LOCKED_TOOLS, ...names]).has(name)

describe('the tool name', () => {
  it.each([
    ['web-fetch', 'web_fetch'], ['web-search', 'web_search'], ['tool-search', 'tool_search'], ['ask-user', 'question'],
    ['ask_user', 'question'], ['ask_clarification', 'question'], ['read_file', 'read'], ['write_file', 'write'],
    ['edit_file', 'edit'],
    ['list_files', 'glob'], ['search', 'grep'], ['code_search', 'grep'], ['bash_manager', 'bash'],
    ['file_manager.read', 'read'],
    ['file_manager.write', 'write'],
  ])('for %s is %s', (foreign, ours) => {
    expect(canonicalToolName(foreign, registry())).toBe(ours)
  })

  it.each([
    ['mcp:git.log', 'git_log'], ['git__log', 'git_log'], ['mcp_git_log', 'git_log'], ['mcp__git__log', 'git_log'],
    ['mcp:my-server.do.it', 'my_server_do_it'], ['git__log__all', 'git_log__all'],
  ])('for the MCP form %s is %s', (foreign, ours) => {
    expect(canonicalToolName(foreign, registry(ours))).toBe(ours)
  })

  it('is unchanged if a tool has it, so an alias cannot hide that tool', () => {
    expect(canonicalToolName('read_file', registry('read_file'))).toBe('read_file')
    expect(canonicalToolName('git__log', registry('git__log', 'git_log'))).toBe('git__log')
  })

  it('is unchanged if it is unknown', () => {
    expect(canonicalToolName('read_file', () => false)).toBe('read_file')
    expect(canonicalToolName('mcp:git.log', registry())).toBe('mcp:git.log')
    const names = ['', 'constructor', '__proto__', 'mcp:', 'mcp:.', '__']
    expect(names.map((name) => canonicalToolName(name, registry()))).toEqual(names)
  })
})

describe('an entry of a list of tools', () => {
  const names = new Set([
    'read', 'read_pdf', 'web_fetch', 'web_search', 'grep', 'search_docs', 'git', 'git_log', 'github_issue', 'my-tool',
    'browser_navigate',
  ])

  it.each<[string, string, readonly string[]]>([
    ['a name, even if longer names begin with it', 'read', ['read']],
    ['an alias', 'read_file', ['read']],
    ['an alias, even if longer names begin with it', 'search', ['grep']],
    ['a tool of a server in another form', 'mcp:browser.navigate', ['browser_navigate']],
    ['the first part of names', 'web', ['web_fetch', 'web_search']],
    ['the first part of names with its separator', 'web_', ['web_fetch', 'web_search']],
    ['the first part before a hyphen', 'my', ['my-tool']],
    ['a server', 'browser', ['browser_navigate']],
    ['a server in other forms', 'mcp:browser', ['browser_navigate']],
    ['a server in other forms', 'mcp_browser', ['browser_navigate']],
    ['a server in other forms', 'mcp__browser', ['browser_navigate']],
    ['a pattern', 'git*', ['git', 'git_log', 'github_issue']],
    ['a pattern', '*_fetch', ['web_fetch']],
    ['all tools of a server in another form', 'mcp:browser.*', ['browser_navigate']],
    ['everything', '*', [...names]],
  ])('may be %s: %s', (_, entry, selected) => {
    expect(toolsSelectedBy(entry, names)).toEqual(selected)
  })

  it.each(['', '_', '-', 'we', 'fetch', 'WEB', 'mcp', 'mcp:', 'git?', 'constructor', '__proto__'])(
    'matches nothing: %j', (entry) => {
      expect(toolsSelectedBy(entry, names)).toEqual([])
    },
  )

  it('adds its tools to those of the other entries', () => {
    expect([...expandToolNames(['web', 'read', 'web_fetch', 'nothing'], names)])
      .toEqual(['web_fetch', 'web_search', 'read'])
    expect([...expandToolNames([], names)]).toEqual([])
  })
})

describe('argument names', () => {
  const edit = { type: 'object', properties: { path: {}, old_string: {}, new_string: {} } }

  it('are renamed in order', () => {
    const renamed = renameArguments({ file_path: 'a', old_text: 'b', new_text: 'c', dry: true }, edit)
    expect(renamed).toStrictEqual({ path: 'a', old_string: 'b', new_string: 'c', dry: true })
    expect(Object.keys(renamed)).toStrictEqual(['path', 'old_string', 'new_string', 'dry'])
    expect(renameArguments({ cmd: 'ls' }, { properties: { command: {} } })).toStrictEqual({ command: 'ls' })
    expect(renameArguments({ filepath: 'a', old_str: 'b', new_str: 'c' }, edit))
      .toStrictEqual({ path: 'a', old_string: 'b', new_string: 'c' })
  })

  it.each([
    ['the schema has the alias', { file_path: 'a' }, { properties: { file_path: {}, path: {} } }],
    ['the schema does not have our name', { file_path: 'a' }, { properties: { url: {} } }],
    ['our name is also given', { file_path: 'a', path: 'b' }, edit],
    ['the schema has no properties', { file_path: 'a' }, { type: 'object' }],
    [
      'the schema only inherits our name', { cmd: 'a' },
      { properties: Object.create({ command: {} }) as Record<string, never> },
    ],
    ['there is nothing to rename', { path: 'a' }, edit],
  ])('are unchanged if %s', (_, args, schema) => {
    expect(renameArguments(args, schema)).toBe(args)
  })

  it('never collide: the second of two aliases of one name is unchanged', () => {
    expect(renameArguments({ file_path: 'a', filepath: 'b' }, edit)).toStrictEqual({ path: 'a', filepath: 'b' })
  })
})

describe('a call with names of another agent', () => {
  const schemas = new Map([
    ['read', { type: 'object', properties: { path: {} } }],
    ['git_log', { type: 'object', properties: { file_path: {} } }],
  ])
  const toolNamed = (name: string) => schemas.has(name) ? { inputSchema: schemas.get(name)! } : undefined

  it('gets our tool and argument names, and is otherwise unchanged', () => {
    expect(canonicalCall({ id: 'c', name: 'read_file', arguments: { file_path: 'a' } }, toolNamed)).toEqual({
      id: 'c', name: 'read', arguments: { path: 'a' },
    })
    expect(canonicalCall({ name: 'mcp:git.log', arguments: { file_path: 'a' } }, toolNamed)).toEqual({
      name: 'git_log', arguments: { file_path: 'a' },
    })
    expect(canonicalCall({ name: 'read', arguments: 'a' }, toolNamed)).toEqual({ name: 'read', arguments: 'a' })
    expect(canonicalCall({ name: 'write_file', arguments: { file_path: 'a' } }, toolNamed)).toEqual({
      name: 'write_file', arguments: { file_path: 'a' },
    })
  })
})
