import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ceilingSet, configFileSchema, manifestSchema } from '@bulkhead/contract/validation'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { BLOCKS, placeOf, ROOT, type Block } from './blocks.ts'

/** Blocks with a file name are complete programs. Each has its own test; tutorials.test.ts runs those of tutorials. */
const RUN_BY_THEIR_OWN: readonly string[] = [
  'README.md index.ts', 'README.md agent.ts', 'docs/guides/policy.md policy-tests.yaml',
  ...['word-count.ts', 'README.md', 'guidance.yaml', 'test/word-count.test.ts', 'test/cancelled.ts'].map(
    (name) => `CONTRIBUTING.md ${name}`,
  ),
  'docs/guides/mcp.md client.json', 'docs/guides/mcp.md server.ts', 'docs/guides/mcp.md release-notes.yaml',
  'docs/guides/openapi.md shop.ts',
  ...['prompt.ts', 'SKILL.md', 'github_create_issue.yaml', 'write-docs.yaml'].map(
    (name) => `docs/guides/prompts.md ${name}`,
  ),
  'docs/guides/code-mode.md program.ts', 'docs/guides/publishing.md package.json', 'docs/guides/publishing.md index.ts',
  'docs/guides/publishing.md fixtures/http.json', 'docs/guides/verifying.md verify.ts',
  'docs/guides/dialects.md dialects.ts', 'docs/guides/acp.md agent.ts', 'docs/guides/approvals.md approve.ts',
  ...['review.ts', 'surface.ts', 'agents/reviewer.json', 'delegate.ts'].map((name) => `docs/guides/agents.md ${name}`),
  'docs/guides/inspector.md inspected.ts', 'docs/guides/durable-agents.md orders.ts',
  'docs/guides/tenants.md back-end.ts',
  'docs/guides/hooks.md policy.ts', 'docs/guides/testing.md orders.ts', 'docs/guides/testing.md orders.test.ts',
  'docs/guides/libraries.md bulkhead.json', 'docs/guides/libraries.md index.js',
  ...[
    'ai-sdk', 'ai-sdk-approval', 'anthropic', 'chat', 'claude-agent', 'gemini', 'langchain', 'llamaindex', 'mastra',
    'openai-agents', 'report', 'responses', 'text',
  ].map((name) => `docs/guides/models.md ${name}.ts`),
]
const OTHER_JSON = /(?:^|\/)(?:client|http|package|reviewer)\.json$/
/**
 * `typescript` marks declarations that are generated from the source, so they are not compiled again. The tests of
 * store-postgres run `sql`.
 */
const LANGUAGES = new Set(['typescript', 'ts', 'js', 'json', 'jsonc', 'yaml', 'sh', 'sql', 'text', ''])

const OPTIONS = {
  noEmit: true, strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, module: 'nodenext',
  target: 'es2024', lib: ['es2024', 'esnext.disposable', 'esnext.iterator', 'esnext.collection', 'esnext.typedarrays'],
  types: ['node'], skipLibCheck: true, allowJs: true, checkJs: true, allowImportingTsExtensions: true,
}

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-pages-')) })
afterEach(() => rmSync(folder, { recursive: true }))

/** The errors of the compiler in blocks of code, each a module, with page and line. */
async function faultsOf(blocks: readonly Block[]): Promise<readonly string[]> {
  const { API } = await import('typescript/unstable/sync')
  mkdirSync(join(folder, 'node_modules/@types'), { recursive: true })
  for (const [name, target] of [
    ['bulkhead', 'packages/bulkhead'], ['@bulkhead', 'packages/bulkhead/node_modules/@bulkhead'],
    ['@opentelemetry', 'packages/bulkhead/node_modules/@opentelemetry'], ['@types/node', 'node_modules/@types/node'],
    ['zod', 'packages/contract/node_modules/zod'],
    ['@restatedev', 'packages/bulkhead/node_modules/@restatedev'],
    ['@temporalio', 'packages/bulkhead/node_modules/@temporalio'],
    ['@agentclientprotocol', 'packages/bridges/node_modules/@agentclientprotocol'],
  ] as const)
    symlinkSync(join(ROOT, target), join(folder, 'node_modules', name))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  copyFileSync(join(import.meta.dirname, 'fixtures/given.d.ts'), join(folder, 'given.d.ts'))
  const names = blocks.map(({ language, file, text }, index) => {
    const name = file === undefined || file.includes('/') ? `block-${index}.${language}` : file
    writeFileSync(join(folder, name), `${text}\nexport {}\n`)
    return name
  })
  writeFileSync(
    join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: OPTIONS, files: ['given.d.ts', ...names] }),
  )
  // Only the blocks are checked: `pnpm types` checks the sources that they import, which takes most of the time.
  const compiler = new API({ cwd: folder })
  try {
    const { program } = compiler.updateSnapshot({ openProjects: [join(folder, 'tsconfig.json')] }).getProjects()[0]!
    const found = [
      ...program.getConfigFileParsingDiagnostics(), ...program.getProgramDiagnostics(),
      ...['given.d.ts', ...names]
        .map((name) => join(folder, name))
        .flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]),
    ]
    return found.map(({ fileName, pos, code, text }) => {
      const block = blocks[names.findIndex((name) => fileName?.endsWith(`/${name}`))]
      const place =
        block === undefined ? fileName : `${block.page}:${block.line + block.text.slice(0, pos).split('\n').length}`
      return `${place}: error TS${code}: ${text}`
    })
  } finally {
    compiler.close()
  }
}

/** Removes comments. A URL has no space before its slashes. */
const withoutComments = (text: string): string => text.replaceAll(/(^|\s)\/\/ .*$/gm, '$1')

it('every block is in a language that a test checks', () => {
  expect(BLOCKS.filter(({ language }) => !LANGUAGES.has(language)).map(placeOf)).toEqual([])
  expect(
    BLOCKS.flatMap(({ page, file }) =>
      file === undefined || page.startsWith('docs/tutorials/') ? [] : [`${page} ${file}`],
    ).toSorted(),
  ).toEqual(RUN_BY_THEIR_OWN.toSorted())
})

it('the code of every page compiles with strict settings, and an error names its page and line', LONG, async () => {
  const code = BLOCKS.filter(({ page, language, file }) =>
    (language === 'ts' || language === 'js') && file === undefined
    || (language === 'ts' && /^docs\/(?:tutorials|guides\/publishing)/.test(page) && !file?.endsWith('.test.ts')))
  const wrong: Block = {
    page: 'docs/x.md', line: 10, language: 'ts', file: undefined,
    text: 'await session.close()\nawait session.cloze()\n',
  }
  expect(await faultsOf([...code, wrong])).toEqual([expect.stringMatching(/^docs\/x\.md:12: error TS2551: .*'cloze'/)])
})

it.each(
  BLOCKS.filter(({ language, file }) => language.startsWith('json') && !OTHER_JSON.test(file ?? '')).map(
    (block) => [placeOf(block), block] as const,
  ),
)('the JSON of %s is valid', (_, { file, text }) => {
  const schema = file?.endsWith('bulkhead.json') ? manifestSchema
    : file === 'ceiling.json' ? ceilingSet : configFileSchema
  expect(schema.safeParse(JSON.parse(withoutComments(text))).error?.issues).toBeUndefined()
})
