import { BUNDLED_TOOLS } from '@bulkhead/contract'
import { manifestSchema } from '@bulkhead/contract/validation'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { createBundledExtensions } from '../src/index.ts'

const text = (minLength = 1, maxLength?: number) => ({ type: 'string', minLength, ...(maxLength !== undefined && { maxLength }) })
const number = (minimum: number, maximum?: number) => ({ type: 'integer', minimum, ...(maximum !== undefined && { maximum }) })
const closed = (required: readonly string[], properties: object) => ({ type: 'object', properties, required, additionalProperties: false })
const BOOLEAN = { type: 'boolean' }
const READS = { fs: { read: ['{workspace}'] } }
/** The workspace, and what the embedder opens for a session. */
const OPEN = ['{workspace}', '{ad-hoc}']
/** Also files with credentials, which a wide pattern leaves out. */
const ALL = ['{workspace}', '{workspace}/**/.*', '{ad-hoc}', '{ad-hoc}/**/.*']
const SESSION = { capabilities: ['session'] }

/** Do not change these schemas: models know them, and a replacement of a locked tool must have the same schema. */
const LOCKED: Readonly<Record<string, object>> = {
  read: {
    requires: { fs: { read: ALL } }, gated: false, mode: 'read', kind: 'read', idempotent: true, maxOutput: '256KB',
    inputSchema: closed(['path'], { path: text(), offset: number(1), limit: number(1), byte_start: number(0), byte_end: number(0) }),
  },
  write: {
    requires: { fs: { write: OPEN } }, gated: true, mode: 'safe_write', kind: 'edit', idempotent: true,
    inputSchema: closed(['path', 'content'], { path: text(), content: { type: 'string' } }),
  },
  edit: {
    requires: { fs: { read: ALL, write: OPEN } }, gated: true, mode: 'safe_write', kind: 'edit', idempotent: false,
    inputSchema: closed(['path', 'old_string', 'new_string'], { path: text(), old_string: text(), new_string: { type: 'string' }, replace_all: BOOLEAN }),
  },
  undo: {
    requires: { fs: { read: ALL, write: OPEN } }, gated: true, mode: 'safe_write', kind: 'edit', idempotent: false,
    inputSchema: closed([], { call: text(1, 128), turn: number(1), session: BOOLEAN, dry_run: BOOLEAN, force: BOOLEAN }),
  },
  glob: {
    requires: { fs: { read: ALL } }, gated: true, mode: 'read', kind: 'search', idempotent: true, maxEntries: 1000, maxOutput: '256KB',
    inputSchema: closed(['pattern'], { pattern: text(1, 1024), path: text() }),
  },
  grep: {
    requires: { fs: { read: OPEN } }, gated: true, mode: 'read', kind: 'search', idempotent: true, maxEntries: 200, maxOutput: '256KB',
    inputSchema: closed(['pattern'], {
      pattern: text(1, 10000), path: text(), glob: text(1, 1024), type: text(1, 64), ignore_case: BOOLEAN, context: number(0, 100), multiline: BOOLEAN,
      output_mode: { enum: ['content', 'files', 'count'] },
    }),
  },
  todo: {
    requires: SESSION, gated: false, mode: 'safe_write', kind: 'other', idempotent: true,
    inputSchema: closed(['todos'], {
      todos: {
        type: 'array', maxItems: 500, items: closed(['content', 'status'], {
          content: text(1, 1000), status: { enum: ['pending', 'in_progress', 'completed', 'cancelled'] }, id: text(1, 64),
          priority: { enum: ['high', 'medium', 'low'] },
        }),
      },
    }),
  },
  question: {
    requires: { capabilities: ['interact'] }, gated: false, mode: 'read', kind: 'other', idempotent: false,
    inputSchema: closed(['questions'], {
      questions: {
        type: 'array', minItems: 1, maxItems: 10, items: closed(['question'], {
          question: text(1, 4000), header: text(1, 80), multi_select: BOOLEAN,
          options: {
            type: 'array', minItems: 1, maxItems: 20, items: closed(['label'], { label: text(1, 200), description: { type: 'string', maxLength: 1000 } }),
          },
        }),
      },
    }),
  },
  task: {
    requires: SESSION, gated: true, mode: 'local', kind: 'other', idempotent: false, timeoutMs: 3_600_000,
    inputSchema: closed(['subagent_type', 'prompt'], {
      subagent_type: { ...text(1, 64), pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]*$' }, prompt: text(), background: BOOLEAN, metadata: { type: 'object' },
    }),
  },
  skill: {
    requires: {
      fs: { read: ['{workspace}/.agents/skills', '{workspace}/.claude/skills', '{workspace}/.bulkhead/skills', '{user-data}/skills'] }, ...SESSION,
    },
    gated: false, mode: 'read', kind: 'think', idempotent: true, maxOutput: '256KB',
    inputSchema: closed(['name'], { name: text(1, 64) }),
  },
  tool_search: {
    requires: SESSION, gated: false, mode: 'read', kind: 'search', idempotent: true,
    inputSchema: closed(['query'], { query: text(1, 1000), max_results: number(1, 10) }),
  },
  list: {
    requires: { fs: { read: ALL } }, gated: true, mode: 'read', kind: 'read', idempotent: true, maxOutput: '256KB',
    inputSchema: closed([], { path: text(), depth: number(1, 10) }),
  },
  apply_patch: {
    requires: { fs: { read: ['{workspace}', '{workspace}/**/.*'], write: ['{workspace}'] } }, gated: true, mode: 'safe_write', kind: 'edit', idempotent: false,
    inputSchema: closed(['patch'], { patch: text() }),
  },
  repo_overview: {
    requires: READS, gated: true, mode: 'read', kind: 'read', idempotent: true, maxOutput: '64KB',
    inputSchema: closed([], { path: text(), depth: number(1, 8) }),
  },
  code_exec: {
    requires: {}, gated: false, mode: 'read', kind: 'execute', idempotent: true,
    inputSchema: closed(['code'], { code: text(1, 131_072) }),
  },
  code_mode: {
    requires: { capabilities: ['tools.call', 'session'] }, gated: false, mode: 'read', kind: 'execute', idempotent: false, timeoutMs: 600_000,
    inputSchema: closed(['code'], { code: text(1, 131_072) }),
  },
  web_fetch: {
    requires: { net: { hosts: ['*'] } }, gated: true, mode: 'external', kind: 'fetch', idempotent: true, maxOutput: '200KB',
    inputSchema: closed(['url'], { url: text(1, 4096), format: { enum: ['markdown', 'text'] } }),
  },
  web_search: {
    requires: { net: { hosts: [] }, ...SESSION }, gated: true, mode: 'external', kind: 'fetch', idempotent: true, timeoutMs: 15_000,
    inputSchema: closed(['query'], { query: text(1, 1000), max_results: number(1, 20) }),
  },
  http_request: {
    requires: { net: { hosts: ['*'] } }, gated: true, mode: 'external', kind: 'fetch', idempotent: false, maxOutput: '200KB',
    inputSchema: closed(['url'], {
      url: text(1, 4096), method: { enum: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] },
      headers: { type: 'object', maxProperties: 64, additionalProperties: { type: 'string', maxLength: 8192 } },
      body: { type: 'string' }, json: { type: 'object' },
    }),
  },
  plan: {
    requires: SESSION, gated: false, mode: 'safe_write', kind: 'think', idempotent: true,
    inputSchema: {
      type: 'object', additionalProperties: false, properties: {
        steps: {
          type: 'array', maxItems: 50,
          items: closed(['step'], { step: text(1, 500), status: { enum: ['pending', 'in_progress', 'completed', 'cancelled'] } }),
        },
        enter: BOOLEAN,
      },
    },
  },
  plan_exit: {
    requires: { capabilities: ['session', 'interact'] }, gated: false, mode: 'read', kind: 'switch_mode', idempotent: false,
    inputSchema: { type: 'object', additionalProperties: false, properties: { summary: { type: 'string', maxLength: 1000 } } },
  },
  lsp: {
    requires: READS, gated: true, mode: 'read', kind: 'search', idempotent: true, timeoutMs: 60_000, maxEntries: 200, maxOutput: '256KB',
    inputSchema: closed(['action', 'path'], {
      action: { enum: ['definition', 'references', 'hover', 'symbols', 'workspace_symbols', 'diagnostics'] },
      path: text(), line: number(1), column: number(1), query: text(1, 1000),
    }),
  },
  pdf_read: {
    requires: { fs: { read: ALL } }, gated: false, mode: 'read', kind: 'read', idempotent: true, maxOutput: '256KB',
    inputSchema: closed(['path'], { path: text(), pages: text(1, 200) }),
  },
  git: {
    requires: { fs: { read: ['{workspace}'], write: ['{workspace}'] }, shell: [{ cmd: 'git', args: [{ rest: true }] }] },
    gated: true, mode: 'safe_write', kind: 'execute', idempotent: false, timeoutMs: 60_000, maxEntries: 1000, maxOutput: '256KB',
    inputSchema: closed(['action'], {
      action: { enum: ['status', 'diff', 'log', 'show', 'add', 'commit', 'branch'] }, path: text(),
      paths: { type: 'array', minItems: 1, maxItems: 500, items: text(1, 4096) }, revision: text(1, 1000), staged: BOOLEAN,
      max_count: number(1, 500), message: text(1, 100_000), name: text(1, 250), switch: BOOLEAN,
    }),
  },
  repo_clone: {
    requires: {
      fs: { read: ['{workspace}'], write: ['{workspace}'] }, net: { hosts: ['*'] },
      shell: [
        { cmd: 'git', args: [{ rest: true }] }, { cmd: 'cat', args: ['--', { rest: true }] }, { cmd: 'tee', args: ['.git/shallow'] },
        { cmd: 'rm', args: ['-rf', '--', { wildcard: true }] },
      ],
    },
    gated: true, mode: 'external', kind: 'fetch', idempotent: false, timeoutMs: 300_000,
    inputSchema: closed(['url', 'path'], {
      url: text(1, 4096), path: text(1, 1024), depth: number(1, 1_000_000), commit: { type: 'string', pattern: '^[0-9a-f]{40}$' },
    }),
  },
  test_runner: {
    requires: { fs: { read: ['{workspace}'], write: ['{workspace}'] }, net: { hosts: ['*'] }, shell: [{ cmd: '*', args: [{ rest: true }] }] },
    gated: true, mode: 'local', kind: 'execute', idempotent: false, timeoutMs: 610_000, maxOutput: '200KB',
    inputSchema: closed([], {
      runner: { enum: ['vitest', 'node', 'jest', 'pytest', 'go', 'cargo'] }, path: text(), filter: text(1, 1000), timeout_ms: number(1, 600_000),
    }),
  },
}

/** Removes descriptions. */
function bare(value: Json): Json {
  if (Array.isArray(value)) return value.map(bare)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([key, member]) => key !== 'description' || typeof member !== 'string').map(([key, member]) => [key, bare(member)]))
}

describe('locked tools', () => {
  const extensions = createBundledExtensions()
  const tools = extensions.flatMap(({ manifest }) => manifestSchema.parse(manifest).tools)

  it.each(tools.filter(({ name }) => Object.hasOwn(LOCKED, name)).map((tool) => [tool.name, tool] as const))('%s has the pinned schema', (name, tool) => {
    const { name: _name, label, description, ...rest } = tool
    expect(bare(rest as unknown as JsonObject)).toEqual(LOCKED[name])
    expect([label, description].every((words) => words !== undefined && words.length > 2)).toBe(true)
  })

  it('exist exactly once, and describe every argument', () => {
    const names = tools.map(({ name }) => name)
    expect(names.toSorted()).toEqual([...new Set(names)].toSorted())
    expect(Object.keys(LOCKED).filter((name) => !names.includes(name))).toEqual([])
    expect(names.filter((name) => !(BUNDLED_TOOLS as readonly string[]).includes(name))).toEqual([])
    for (const { name, inputSchema } of tools) {
      for (const [argument, schema] of Object.entries(inputSchema['properties'] as JsonObject)) {
        expect((schema as JsonObject)['description'], `${name}.${argument}`).toEqual(expect.stringMatching(/\.$/))
      }
    }
  })
})
