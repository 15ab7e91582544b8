import * as fc from 'fast-check'
import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { TOOL_ALIASES } from '../../src/dialects/aliases.ts'
import {
  canonicalCall, canonicalToolName, expandToolNames, renameArguments, toolsSelectedBy,
} from '../../src/dialects/names.ts'
import { adviceOnArgument, adviceOnTool } from '../../src/dialects/untranslated.ts'
import { BUNDLED_TOOLS } from '../../src/model/names.ts'
import { anyJson } from '../../../kit/test/samples/json.ts'

const registry = (...names: string[]) => (name: string) => new Set<string>([...BUNDLED_TOOLS, ...names]).has(name)

describe('the tool name', () => {
  it.each([
    ['web-fetch', 'web_fetch'], ['web-search', 'web_search'], ['tool-search', 'tool_search'], ['ask-user', 'question'],
    ['ask_user', 'question'], ['ask_clarification', 'question'], ['read_file', 'read'], ['write_file', 'write'],
    ['edit_file', 'edit'],
    ['list_files', 'list'], ['search', 'grep'], ['code_search', 'grep'], ['bash_manager', 'bash'],
    ['file_manager.read', 'read'],
    ['file_manager.write', 'write'], ['file_manager.delete', 'apply_patch'], ['diff_editor.apply', 'apply_patch'],
    ['git_manager.commit', 'git'], ['lsp_manager.hover', 'lsp'], ['http-request', 'http_request'],
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
    'browser_navigate', 'chrome_dev_tools_click', 'chrome_dev_tools_open', 'op_7zip_pack',
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
    ['a tool whose actions are tools of ours', 'file_manager', ['read']],
    ['a tool whose actions are one tool of ours', 'git_manager', ['git']],
    ['all tools of a server in another form', 'mcp:browser.*', ['browser_navigate']],
    ['all tools of a server as rules name them', 'mcp:browser:*', ['browser_navigate']],
    ['a server whose name has a hyphen', 'chrome-dev-tools', ['chrome_dev_tools_click', 'chrome_dev_tools_open']],
    ['such a server in other forms', 'mcp:chrome-dev-tools', ['chrome_dev_tools_click', 'chrome_dev_tools_open']],
    ['such a server in other forms', 'mcp__chrome-dev-tools', ['chrome_dev_tools_click', 'chrome_dev_tools_open']],
    ['some tools of such a server', 'mcp:chrome-dev-tools:cl*', ['chrome_dev_tools_click']],
    ['a server whose name begins with a digit', 'mcp:7zip', ['op_7zip_pack']],
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

describe('advice', () => {
  it.each([
    ['read_file', undefined, 'Use "read" instead.'], ['file_manager', 'append', 'Use "apply_patch" instead.'],
    ['git_manager.commit', undefined, 'Use "git" instead.'],
    ['git_manager', 'push', 'Run "git push" with "bash".'],
    ['git_manager.init', undefined, 'Run "git init" with "bash".'],
    ['diff_editor', 'create', 'Compare files of a repository with "git" and the action diff.'],
    ['git_manager', 'frob', 'Calls of it are translated with one of these actions: status, diff, log, add, commit.'],
    ['diff_editor', undefined, 'Calls of it are translated with one of these actions: apply.'],
    ['unknown', 'push', undefined], ['constructor', 'constructor', undefined], ['', '', undefined],
  ])('for the tool %s with the action %s is %s', (name, action, advice) => {
    expect(adviceOnTool(name, action, registry())).toBe(advice)
  })

  it('for an argument names another way', () => {
    expect(adviceOnArgument('web_search', 'allowed_domains')).toMatch(/"site:HOST"/)
    expect(adviceOnArgument('read', 'allowed_domains')).toBeUndefined()
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

  const bundled = (properties: readonly string[]) =>
    ({ inputSchema: { type: 'object', properties: Object.fromEntries(properties.map((name) => [name, {}])) } })
  const tools = new Map(Object.entries({
    read: bundled(['path', 'offset', 'limit']), write: bundled(['path', 'content']),
    edit: bundled(['path', 'old_string', 'new_string']), glob: bundled(['pattern', 'path']),
    grep: bundled(['pattern', 'path', 'glob', 'ignore_case', 'context']), bash: bundled(['command', 'timeout_ms']),
    question: bundled(['questions']), web_search: bundled(['query', 'max_results']), web_fetch: bundled(['url']),
    tool_search: bundled(['query', 'max_results']), list: bundled(['path', 'depth']), apply_patch: bundled(['patch']),
    git: bundled(['action', 'paths', 'message']), lsp: bundled(['action', 'path', 'line', 'column']),
    http_request: bundled(['url', 'method']),
  }))

  it.each<[string, JsonObject, string, JsonObject]>([
    ['list_files', {}, 'list', {}],
    ['list_files', { path: 'src', max_depth: 2 }, 'list', { path: 'src', depth: 2 }],
    ['file_manager', { action: 'list', path: 'src' }, 'list', { path: 'src' }],
    ['list_files', { path: 'src', pattern: null }, 'list', { path: 'src' }],
    ['list_files', { path: 'src', pattern: '*.rs' }, 'glob', { pattern: '**/*.rs', path: 'src' }],
    ['list_files', { pattern: 'src/*.rs' }, 'glob', { pattern: 'src/*.rs' }],
    ['ask_clarification', { question: 'Which?' }, 'question', { questions: [{ question: 'Which?' }] }],
    [
      'ask_user', { question: 'Which?', options: ['a', 'b'] }, 'question',
      { questions: [{ question: 'Which?', options: [{ label: 'a' }, { label: 'b' }] }] },
    ],
    ['ask-user', { questions: [{ question: 'x' }] }, 'question', { questions: [{ question: 'x' }] }],
    ['ask-user', { question: 'x', options: [] }, 'question', { questions: [{ question: 'x' }] }],
    ['file_manager', { action: 'read', path: 'a' }, 'read', { path: 'a' }],
    ['file_manager', { action: 'read', file_path: 'a' }, 'read', { path: 'a' }],
    ['file_manager', { action: 'write', path: 'a', content: 'b' }, 'write', { path: 'a', content: 'b' }],
    [
      'file_manager', { action: 'edit', path: 'a', old_text: 'b', new_text: 'c' }, 'edit',
      { path: 'a', old_string: 'b', new_string: 'c' },
    ],
    ['file_manager', { action: 'list', path: 'a', pattern: '*.ts' }, 'glob', { pattern: '**/*.ts', path: 'a' }],
    ['file_manager.read', { path: 'a' }, 'read', { path: 'a' }],
    [
      'file_manager', { action: 'delete', path: 'a' }, 'apply_patch',
      { patch: '*** Begin Patch\n*** Delete File: a\n*** End Patch\n' },
    ],
    ['file_manager', { action: 'delete', path: 'a\nb' }, 'apply_patch', { action: 'delete', path: 'a\nb' }],
    [
      'file_manager', { action: 'append', path: 'a', content: 'b\n*** End Patch\n' }, 'apply_patch',
      { patch: '*** Begin Patch\n*** Update File: a\n@@\n+b\n+*** End Patch\n*** End Patch\n' },
    ],
    [
      'file_manager', { action: 'append', file_path: 'a', content: 'b' }, 'apply_patch',
      { patch: '*** Begin Patch\n*** Update File: a\n@@\n+b\n*** End Patch\n' },
    ],
    ['file_manager', { action: 'append', path: 'a' }, 'apply_patch', { action: 'append', path: 'a' }],
    [
      'diff_editor', { action: 'apply', diff: '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n', path: 'x' }, 'apply_patch',
      { patch: '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n' },
    ],
    [
      'diff_editor', { action: 'apply', diff: '@@ -1 +1 @@\n-a\n+b\n', file_path: 'x' }, 'apply_patch',
      { patch: '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n' },
    ],
    ['diff_editor', { action: 'create', path: 'x' }, 'diff_editor', { action: 'create', path: 'x' }],
    ['apply_patch', { input: '*** Begin Patch' }, 'apply_patch', { patch: '*** Begin Patch' }],
    ['git_manager', { action: 'add', files: ['a'] }, 'git', { action: 'add', paths: ['a'] }],
    ['git_manager.commit', { message: 'x' }, 'git', { message: 'x', action: 'commit' }],
    ['git_manager', { action: 'push' }, 'git_manager', { action: 'push' }],
    ['lsp_manager', { action: 'hover', file_path: 'a', line: 1 }, 'lsp', { path: 'a', line: 1, action: 'hover' }],
    ['lsp_manager', { action: 'ruff_check', path: 'a' }, 'lsp_manager', { action: 'ruff_check', path: 'a' }],
    ['http-request', { url: 'x', method: 'PUT' }, 'http_request', { url: 'x', method: 'PUT' }],
    ['list', { path: 'a', max_depth: 2 }, 'list', { path: 'a', depth: 2 }],
    ['file_manager', { path: 'a' }, 'file_manager', { path: 'a' }],
    ['edit_file', { path: 'a', old_text: 'b', new_text: 'c' }, 'edit', { path: 'a', old_string: 'b', new_string: 'c' }],
    ['code_search', { pattern: 'x', include: '*.py', max_results: 5 }, 'grep', { pattern: 'x', glob: '*.py' }],
    ['search', { pattern: 'x', path: 'src' }, 'grep', { pattern: 'x', path: 'src' }],
    ['bash_manager', { command: 'ls', timeout: 5 }, 'bash', { command: 'ls', timeout_ms: 5 }],
    ['web-search', { query: 'x', num: 3 }, 'web_search', { query: 'x', max_results: 3 }],
    ['web_search', { query: 'x', num: 3 }, 'web_search', { query: 'x', max_results: 3 }],
    ['grep', { 'pattern': 'x', '-i': true, '-C': 2 }, 'grep', { pattern: 'x', ignore_case: true, context: 2 }],
    ['tool-search', { query: 'x', max_results: 3 }, 'tool_search', { query: 'x', max_results: 3 }],
  ])('gets our argument shape: %s %j is %s %j', (name, args, ours, shaped) => {
    const call = canonicalCall({ id: 'c', name, arguments: args }, (known) => tools.get(known))
    expect(call).toStrictEqual({ id: 'c', name: ours, arguments: shaped })
  })

  it('is unchanged for a registered tool with the name of an alias', () => {
    const args = { path: 'a' }
    const own = (name: string) => name === 'list_files' || name === 'file_manager' ? bundled(['path']) : tools.get(name)
    for (const name of ['list_files', 'file_manager']) {
      expect(canonicalCall({ name, arguments: args }, own)).toStrictEqual({ name, arguments: args })
    }
  })

  it('may have arguments of any kind, and translating twice changes nothing more', () => {
    const names = [...TOOL_ALIASES.keys(), 'file_manager', 'diff_editor', 'git_manager', 'x']
    const anyArguments = fc.oneof(
      anyJson,
      fc.dictionary(
        fc.constantFrom(
          'action', 'path', 'content', 'patch', 'diff', 'pattern', 'question', 'questions', 'options', 'include',
          'file_path', '__proto__',
        ),
        fc.oneof(anyJson, fc.constantFrom('read', 'write', 'list', 'append', 'delete', 'apply', 'commit', 'a*')),
        { noNullPrototype: true },
      ),
    )
    fc.assert(fc.property(fc.constantFrom(...names), anyArguments, (name, args) => {
      const once = canonicalCall({ name, arguments: args }, (known) => tools.get(known))
      expect(canonicalCall(once, (known) => tools.get(known))).toStrictEqual(once)
    }))
  })
})
