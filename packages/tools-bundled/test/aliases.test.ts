import { canonicalCall } from '@bulkhead/contract/dialects'
import { manifestSchema } from '@bulkhead/contract/validation'
import { isJsonObject, type JsonObject } from '@bulkhead/kit/json'
import { expect, it } from 'vitest'
import { createBundledExtensions } from '../src/index.ts'

const tools = new Map(createBundledExtensions().flatMap(({ manifest }) => manifestSchema.parse(manifest).tools)
  .map(({ name, inputSchema }) => [name, { inputSchema: inputSchema as JsonObject }]))

/** Calls of morphix and phi, as far as their specifications describe them. */
const CALLS: readonly (readonly [name: string, args: JsonObject, ours: string])[] = [
  ['read_file', { path: 'a', offset: 1, limit: 2 }, 'read'], ['write_file', { path: 'a', content: 'b' }, 'write'],
  ['edit_file', { path: 'a', old_text: 'b', new_text: 'c' }, 'edit'],
  ['list_files', { path: 'a', pattern: '*.ts' }, 'glob'],
  ['list_files', { path: '.', max_depth: 1 }, 'list'],
  ['search', { pattern: 'x', path: 'a' }, 'grep'], ['bash', { command: 'ls' }, 'bash'],
  ['bash_manager', { command: 'ls' }, 'bash'], ['file_manager', { action: 'read', path: 'a' }, 'read'],
  ['file_manager', { action: 'write', path: 'a', content: 'b' }, 'write'],
  ['file_manager', { action: 'append', path: 'a', content: 'b' }, 'apply_patch'],
  ['file_manager', { action: 'delete', path: 'a' }, 'apply_patch'],
  ['diff_editor', { action: 'apply', path: 'a', diff: '@@ -1 +1 @@\n-a\n+b\n' }, 'apply_patch'],
  ['git_manager', { action: 'add', files: ['a'] }, 'git'], ['git_manager', { action: 'commit', message: 'x' }, 'git'],
  ['git_manager', { action: 'log' }, 'git'], ['git_manager', { action: 'diff' }, 'git'],
  ['lsp_manager', { action: 'definition', file_path: 'a.py', line: 3, column: 2 }, 'lsp'],
  ['lsp_manager', { action: 'hover', path: 'a.py', line: 3, column: 2 }, 'lsp'],
  ['lsp_manager', { action: 'references', path: 'a.py', line: 3, column: 2 }, 'lsp'],
  ['lsp_manager', { action: 'diagnostics', path: 'a.py' }, 'lsp'],
  ['test_runner', { path: 'tests', timeout: 1000 }, 'test_runner'], ['code_exec', { code: 'return 1' }, 'code_exec'],
  ['code_search', { pattern: 'x', include: '*.py', max_results: 5 }, 'grep'],
  ['pdf_read', { file_path: 'a.pdf' }, 'pdf_read'], ['web_search', { query: 'x', num: 3 }, 'web_search'],
  ['web_fetch', { url: 'https://a.example/' }, 'web_fetch'],
  ['http-request', { url: 'https://a.example/', method: 'POST', body: 'x' }, 'http_request'],
  ['ask_clarification', { question: 'Which?', options: ['a'] }, 'question'],
]

it.each(CALLS)('%s %j becomes a valid call of %s', (name, args, ours) => {
  const call = canonicalCall({ id: 'c', name, arguments: args }, (known) => tools.get(known))
  expect(call.name).toBe(ours)
  const { properties, required } = tools.get(ours)!.inputSchema as {
    properties: JsonObject
    required: readonly string[]
  }
  const given = call.arguments as JsonObject
  expect(Object.keys(given).filter((key) => !Object.hasOwn(properties, key))).toEqual([])
  expect(required.filter((key) => !Object.hasOwn(given, key))).toEqual([])
  const { action } = properties
  if (isJsonObject(action)) expect(action['enum']).toContain(given['action'])
})
