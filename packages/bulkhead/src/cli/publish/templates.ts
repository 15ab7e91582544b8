import { CONTRACT_VERSION, MANIFEST_FILE } from '@bulkhead/contract'
import { CORE_VERSION } from '../../facade/version.ts'
import { openapi } from './template-openapi.ts'
import { common, json, rangeOf, readme } from './template-parts.ts'

/** What `bulkhead new` can write. */
export const TEMPLATES = {
  'tool-ts': { text: 'a tool in TypeScript; its manifest is generated', files: toolTs },
  'tool': { text: 'a tool in JavaScript, with a manifest that you write', files: toolJs },
  'mcp-server': { text: 'a tool in TypeScript, and a server for MCP clients', files: mcpServer },
  'openapi': { text: 'tools in TypeScript for the operations of an HTTP API', files: openapi },
} as const satisfies Record<string, Template>

export type TemplateName = keyof typeof TEMPLATES

interface Template {
  readonly text: string
  /** By path. */
  files(id: string): Readonly<Record<string, string>>
}

const COUNTS = 'Counts words in the files of a project.'
const countReadme = (id: string, more = ''): string => readme(id, COUNTS, `\`\`\`sh
npm install
npx bulkhead call . ${id} --args '{"path":"README.md"}'
\`\`\`
The tool reads files in the workspace, and can do nothing else.
${more}`)

const countTs = (id: string): string => `import { defineExtension, defineTool } from '@bulkhead/contract/author'

export const countWords = defineTool({
  description: 'Counts the words of a text file in the workspace.',
  // JSON Schema, or a schema of zod: z.strictObject({ path: z.string() })
  input: {
    type: 'object', required: ['path'], additionalProperties: false,
    properties: {
      path: { type: 'string', minLength: 1, maxLength: 500, description: 'Path of the file in the workspace.' },
    },
  },
  output: {
    type: 'object', required: ['path', 'words'],
    properties: { path: { type: 'string' }, words: { type: 'integer', description: 'The number of words.' } },
  },
  requires: { fs: { read: ['{workspace}/**'] } },
  approvalKey: '{path}',
  mode: 'read',
  async execute({ path }, runtime) {
    runtime.progress(\`counting \${path}\`)
    const text = await runtime.fs.readText(path)
    return { path, words: text.split(/\\s+/).filter(Boolean).length }
  },
})

export default defineExtension({ tools: { '${id}': countWords } })
`

const countTest = (subject: string, from: string): string => `import { expect, it } from 'vitest'
${from}

it('counts the words of a file', async () => {
  const runtime = { progress: () => undefined, fs: { readText: async () => 'one two\\nthree\\n' } }
  expect(await ${subject}.execute({ path: 'notes.md' }, runtime)).toEqual({ path: 'notes.md', words: 3 })
})
`

function toolTs(id: string) {
  return {
    'index.ts': countTs(id),
    'test/index.test.ts': countTest('countWords', "import { countWords } from '../index.ts'"),
    'README.md': countReadme(id),
    ...common(id, { description: COUNTS, language: 'ts' }),
  }
}

function toolJs(id: string) {
  return {
    [MANIFEST_FILE]: json({
      $schema: './node_modules/@bulkhead/contract/schema/manifest.schema.json',
      kind: 'Tool', contractVersion: CONTRACT_VERSION, requiredCoreVersion: `^${CORE_VERSION}`,
      id, version: '0.1.0', title: id, description: COUNTS, main: './index.js',
      tools: [{
        name: id,
        description: 'Counts the words of a text file.',
        inputSchema: {
          type: 'object', required: ['path'], additionalProperties: false,
          properties: {
            path: { type: 'string', minLength: 1, maxLength: 500, description: 'Path of the file in the workspace.' },
          },
        },
        outputSchema: {
          type: 'object', required: ['path', 'words'],
          properties: { path: { type: 'string' }, words: { type: 'integer', description: 'The number of words.' } },
        },
        requires: { fs: { read: ['{workspace}/**'] } },
        approvalKey: '{path}',
        mode: 'read',
      }],
    }),
    'index.js': `import { defineExtension } from '@bulkhead/contract/author'

export default defineExtension({
  tools: {
    '${id}': {
      async execute({ path }, runtime) {
        runtime.progress(\`counting \${path}\`)
        const text = await runtime.fs.readText(path)
        return { path, words: text.split(/\\s+/).filter(Boolean).length }
      },
    },
  },
})
`,
    'test/index.test.js': countTest(`extension.tools['${id}']`, "import extension from '../index.js'"),
    'README.md': countReadme(id),
    ...common(id, { description: COUNTS, language: 'js' }),
  }
}

function mcpServer(id: string) {
  return {
    ...toolTs(id),
    'server.ts': `import { createHost } from 'bulkhead'
import { serveTools } from '@bulkhead/bridges/mcp'
import about from './package.json' with { type: 'json' }

// Serves the tools of this machine to one MCP client, over standard input and output. Each call is checked and audited.
const host = await createHost({ workspace: process.cwd() })
const serving = await serveTools(host, {
  info: { name: about.name, version: about.version },
  openSession: (interactor) => host.openSession({ mode: 'ask', interactor }),
})
await serving.closed
await host.close()
`,
    'README.md': countReadme(id, `
To serve it to an MCP client, install the tool with \`npm run setup\`, and let the client start \`node server.ts\` in the
folder that the tool works on:

\`\`\`json
{ "mcpServers": { "${id}": { "command": "node", "args": ["/path/to/${id}/server.ts"] } } }
\`\`\`
`),
    ...common(id, {
      description: COUNTS, language: 'ts', scripts: { setup: 'bulkhead install .', start: 'node server.ts' },
      dependencies: { '@bulkhead/bridges': rangeOf('@bulkhead/bridges'), '@modelcontextprotocol/server': '^2.4.0' },
    }),
  }
}
