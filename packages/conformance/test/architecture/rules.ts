import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join, posix } from 'node:path'
import { findCycles, findUnordered, findUpwardImports } from './floors.ts'
import { sourceFiles, walk, type SourceFile } from './source-files.ts'

export interface Rule {
  readonly name: string
  /** One line per violation. */
  check(root: string): readonly string[]
}

const MAX_LINES = 300
const MAX_INDEX_LINES = 100
const MAX_README_LINES = 40
const MAX_COLUMNS = 120

/** Only `bulkhead` composes packages and may import all of them. `create-bulkhead` runs one of its commands. */
const COMPOSERS: ReadonlySet<string> = new Set(['bulkhead', 'create-bulkhead'])
/** A store in another database keeps the same records and the same chain of the audit. */
const ALSO: ReadonlyMap<string, readonly string[]> = new Map([['sandbox', ['broker']], ['store-postgres', ['store']]])
const importable = (name: string): ReadonlySet<string> => new Set(
  name === 'kit' ? ['kit'] : name === 'contract' ? ['contract', 'kit']
    : ['contract', 'kit', ...(ALSO.get(name) ?? []), name])

const packagesOf = (root: string): readonly string[] => readdirSync(join(root, 'packages'))
const manifestOf = (root: string, name: string) =>
  JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8')) as {
    readonly exports?: Readonly<Record<string, string>>
    readonly dependencies?: Readonly<Record<string, string>>
  }
const everywhere = (root: string): readonly SourceFile[] => [
  ...packagesOf(root).flatMap((name) => sourceFiles(root, `packages/${name}/src`)), ...sourceFiles(root, 'apps'),
  ...sourceFiles(root, 'bench'),
  ...sourceFiles(root, 'scripts'),
]

/** The workspace package that a specifier names, or undefined. */
function workspacePackage(specifier: string): string | undefined {
  if (specifier === 'bulkhead' || specifier.startsWith('bulkhead/')) return 'bulkhead'
  return specifier.startsWith('@bulkhead/') ? specifier.split('/')[1] : undefined
}

/** The workspace file that a relative import names, or undefined. */
const target = (file: SourceFile, specifier: string): string | undefined =>
  specifier.startsWith('.') ? posix.join(posix.dirname(file.path), specifier) : undefined

const star: Rule = {
  name: 'a package imports contract and kit, and nothing else of the workspace',
  check: (root) => packagesOf(root).filter((name) => !COMPOSERS.has(name)).flatMap((name) => {
    const allowed = importable(name)
    const foreign = (specifier: string) => {
      const other = workspacePackage(specifier)
      return other !== undefined && !allowed.has(other)
    }
    return [
      ...Object.keys(manifestOf(root, name).dependencies ?? {}).filter(foreign)
        .map((other) => `packages/${name}/package.json depends on ${other}`),
      ...sourceFiles(root, `packages/${name}/src`).flatMap((file) => [
        ...file.imports.filter(foreign).map((specifier) => `${file.path} imports ${specifier}`),
        ...file.imports.filter((specifier) => target(file, specifier)?.startsWith(`packages/${name}/`) === false)
          .map((specifier) => `${file.path} reaches out with ${specifier}`),
      ]),
    ]
  }),
}

const pureContract: Rule = {
  name: 'contract is pure',
  check: (root) => sourceFiles(root, 'packages/contract/src').flatMap((file) =>
    file.imports.filter((specifier) => isBuiltin(specifier)).map((specifier) => `${file.path} imports ${specifier}`)),
}

const portsOnlyHost: Rule = {
  name: 'host sees ports, not files, threads or sockets',
  check: (root) =>
    sourceFiles(root, 'packages/host/src').flatMap((file) =>
      file.imports
        .filter((specifier) =>
          /^(?:node:)?(?:fs|child_process|worker_threads|net|http|https|cluster)(?:\/|$)/.test(specifier),
        )
        .map((specifier) => `${file.path} imports ${specifier}`),
    ),
}

/**
 * The imports of each folder of the sandbox besides itself. `extension` runs on both sides: in a compartment, and
 * inline in the host.
 */
const SANDBOX_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  wire: [], extension: ['wire'], worker: ['wire', 'extension'], os: [], jail: ['os'], process: ['wire', 'os'],
  pool: ['os', 'process'], session: ['wire', 'extension', 'process', 'pool'],
}
/** Files beside the folders compose the host's side. They do not import code that runs in a compartment. */
const SANDBOX_ROOT = ['jail', 'os', 'pool', 'process', 'session']
const WITHOUT_BROKER: ReadonlySet<string> = new Set(['wire', 'extension', 'worker'])

const twoSides: Rule = {
  name: 'code inside a compartment and code that guards it never import each other',
  check: (root) => sourceFiles(root, 'packages/sandbox/src').flatMap((file) => {
    const folderOf = (path: string): string | undefined => /^packages\/sandbox\/src\/([^/]+)\//.exec(path)?.[1]
    const own = folderOf(file.path)
    const allowed = own === undefined ? SANDBOX_ROOT : [own, ...SANDBOX_IMPORTS[own] ?? []]
    const crosses = (specifier: string): boolean => {
      const other = folderOf(target(file, specifier) ?? '')
      return other !== undefined && !allowed.includes(other)
    }
    const reachesBroker = (specifier: string): boolean =>
      own !== undefined && WITHOUT_BROKER.has(own) && workspacePackage(specifier) === 'broker'
    return file.imports.filter((specifier) => crosses(specifier) || reachesBroker(specifier))
      .map((specifier) => `${file.path} imports ${specifier}`)
  }),
}

const noCycles: Rule = { name: 'files do not import each other in a circle', check: findCycles }

const floors: Rule = {
  name: 'imports inside a package point down', check: (root) => [...findUnordered(root), ...findUpwardImports(root)],
}

const shortFiles: Rule = {
  name: `source files stay under ${MAX_LINES} lines`,
  check: (root) => everywhere(root).filter((file) => file.text.split('\n').length > MAX_LINES)
    .map((file) => `${file.path} has ${file.text.split('\n').length} lines`),
}

const namedFolders: Rule = {
  name: 'no file or folder has a generic name',
  check: (root) =>
    everywhere(root)
      .filter((file) => /(?:^|\/)(?:utils?|helpers?|shared|common|misc)(?:\/|\.[a-z]+$)/.test(file.path))
      .map((file) => `${file.path} has a name that says nothing about its content`),
}

const smallIndexes: Rule = {
  name: 'an index is small and names what it exports',
  check: (root) => packagesOf(root).flatMap((name) => sourceFiles(root, `packages/${name}/src`))
    .filter((file) => file.path.endsWith('/index.ts')).flatMap((file) => [
    ...(file.text.split('\n').length > MAX_INDEX_LINES ? [`${file.path} has more than ${MAX_INDEX_LINES} lines`] : []),
    ...(/^export \*/m.test(file.text) ? [`${file.path} exports *`] : []),
  ]),
}

const pinnedExports: Rule = {
  name: 'a test pins every entry of every package',
  check: (root) => packagesOf(root).flatMap((name) => {
    const pin = join(root, 'packages', name, 'test', 'exports.test.ts')
    if (Object.keys(manifestOf(root, name).exports ?? {}).length === 0) return []
    if (!existsSync(pin)) return [`packages/${name} has no test/exports.test.ts`]
    const text = readFileSync(pin, 'utf8')
    return Object.values(manifestOf(root, name).exports ?? {})
      .filter((path) => path.endsWith('.ts') && !text.includes(`'../${path.slice(2)}'`))
      .map((path) => `packages/${name}/test/exports.test.ts does not pin ${path}`)
  }),
}

const shortReadmes: Rule = {
  name: `every package has a README of at most ${MAX_README_LINES} lines`,
  check: (root) => packagesOf(root).flatMap((name) => {
    const path = join(root, 'packages', name, 'README.md')
    if (!existsSync(path)) return [`packages/${name} has no README.md`]
    const { length } = readFileSync(path, 'utf8').split('\n')
    return length > MAX_README_LINES ? [`packages/${name}/README.md is too long`] : []
  }),
}

const testsOf = (root: string): readonly string[] =>
  [
    ...packagesOf(root).flatMap((name) => [`packages/${name}/src`, `packages/${name}/test`]), 'apps/demo/test',
    'bench/test',
  ].flatMap((folder) => walk(join(root, folder)).filter((path) => path.endsWith('.test.ts')))

/** What a test may not contain, and what it should have instead. */
const NOT_IN_TESTS: readonly (readonly [RegExp, string])[] = [
  [
    /\b(?:it|test|describe)\.(?:skip|only|todo)\b|\b(?:skip|run)If\(/,
    'use needs() or runsIf(), so that the reason is counted',
  ],
  [/existsSync\([^)]*bwrap/, "use has('bubblewrap') of scripts/machine.ts: it may be installed and not work"],
  [/\bvi\.waitUntil\(/, 'use expect.poll(), which says what it waits for'],
]

const explainedTests: Rule = {
  name: 'a test is skipped with a reason, waits with words, and asks in one place what the machine has',
  check: (root) => testsOf(root).flatMap((path) => NOT_IN_TESTS.flatMap(([found, instead]) =>
    found.test(readFileSync(path, 'utf8')) ? [`${path.slice(root.length + 1)}: ${instead}`] : [])),
}

const taggedWalls: Rule = {
  name: 'a test that depends on bubblewrap has the tag of walls',
  check: (root) => testsOf(root).filter((path) => {
    const text = readFileSync(path, 'utf8')
    return /\bhas\('bubblewrap'\)/.test(text) && !/^\/\/ @module-tag walls$|['`], WALLS, |\.\.\.WALLS\b/m.test(text)
  }).map((path) => `${path.slice(root.length + 1)} has no WALLS`),
}

/** Code of tests: whole folders, and the tests that are beside a source. */
const testCodeOf = (root: string): readonly string[] => [
  ...packagesOf(root).map((name) => `packages/${name}`), 'apps', 'bench',
].flatMap((folder) => walk(join(root, folder)))
  .filter((path) => /\/(?:test|soak|corpus)\/.*\.ts$|\.test\.ts$/.test(path.slice(root.length)))

const narrowTests: Rule = {
  name: `lines of tests have at most ${MAX_COLUMNS} columns`,
  check: (root) => testCodeOf(root).flatMap((path) => readFileSync(path, 'utf8').split('\n').flatMap((line, index) =>
    line.length > MAX_COLUMNS ? [`${path.slice(root.length + 1)}:${index + 1} has ${line.length} columns`] : [])),
}

export const RULES: readonly Rule[] = [
  star, pureContract, portsOnlyHost, twoSides, noCycles, floors, shortFiles, namedFolders, smallIndexes, pinnedExports,
  shortReadmes, explainedTests, taggedWalls, narrowTests,
]
