import { MANIFEST_FILE, NPM_NAME_CHARS, NPM_NAME_PATTERN, type ExtensionDescriptor } from '@bulkhead/contract'
import { isJsonObject, parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { firstOf, type Requirement } from './requirement.ts'
import type { ConformanceTarget } from './target.ts'

export interface PackageFacts {
  readonly extension: ExtensionDescriptor
  readonly files: ReadonlyMap<string, Uint8Array>
  readonly warnings: readonly string[]
  /** bulkhead.json as it is written, without defaults. */
  readonly written: JsonObject
  readonly packageJson: JsonObject | undefined
}

/** What can be seen without running anything. */
export async function observePackage({ extension, warnings = [] }: ConformanceTarget): Promise<PackageFacts> {
  const files: PackageFacts['files'] = extension.code.kind === 'files' ? await extension.code.readFiles() : new Map()
  return {
    extension, files, warnings, written: jsonFile(files, MANIFEST_FILE) ?? {},
    packageJson: jsonFile(files, 'package.json'),
  }
}

function jsonFile(files: ReadonlyMap<string, Uint8Array>, name: string): JsonObject | undefined {
  const bytes = files.get(name)
  const parsed = bytes && parseJson(textOf(bytes))
  return parsed?.ok && isJsonObject(parsed.value) ? parsed.value : undefined
}

export const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const SPEC = 'docs/guides/packages.md'
const MEGABYTE = 1024 * 1024
const MOST_BYTES = 5 * MEGABYTE
const MOST_FILES = 200

const firstFile = (
  { files }: PackageFacts, matches: (path: string, bytes: Uint8Array) => boolean,
): string | undefined => firstOf(files, ([path, bytes]) => matches(path, bytes) ? path : undefined)

const has = (facts: PackageFacts, pattern: RegExp): boolean => facts.files.keys().some((path) => pattern.test(path))
const filled = (value: Json | undefined): boolean => typeof value === 'string' && value.trim() !== ''
const names = (value: Json | undefined): readonly string[] => isJsonObject(value) ? Object.keys(value) : []

/** Of package.json, for a package that has one. */
const ofPackageJson = (check: (packageJson: JsonObject, facts: PackageFacts) => string | undefined) =>
  (facts: PackageFacts): string | undefined => facts.packageJson && check(facts.packageJson, facts)

const SCRIPTS: ReadonlySet<string> = new Set(
  ['preinstall', 'install', 'postinstall', 'prepare', 'preuninstall', 'uninstall', 'postuninstall'],
)
const CODE = /\.(?:m?js|json|md|txt|css|html|wasm|map|svg|d\.ts)$|^LICEN[CS]E|^NOTICE|^[^.]+$/i

export const PACKAGE_REQUIREMENTS: readonly Requirement<PackageFacts>[] = [
  {
    id: 'package-license', level: 'should', spec: SPEC,
    statement: 'The package names its licence, in package.json or a LICENSE file.',
    why: 'Without a licence no one may use it.',
    cure: 'Add "license" to package.json, or a LICENSE file.',
    check: (facts) => filled(facts.packageJson?.['license']) || has(facts, /^licen[cs]e/i)
      ? undefined : 'there is no licence',
  },
  {
    id: 'package-readme', level: 'should', spec: SPEC,
    statement: 'The package has a README.',
    why: 'Registries and people show it.',
    cure: 'Add README.md: what the tools do, what they need, one example.',
    check: (facts) => has(facts, /^readme/i) ? undefined : 'there is no README',
  },
  {
    id: 'package-version', level: 'must', spec: SPEC,
    statement: 'package.json and bulkhead.json have the same version.',
    why: 'A package from a registry can be installed only if both are equal.',
    cure: 'Write the same version in both.',
    check: ofPackageJson(({ version }, { extension }) => version === undefined || version === extension.version
      ? undefined : `package.json has ${JSON.stringify(version)}, bulkhead.json has ${extension.version}`),
  },
  {
    id: 'package-scripts', level: 'must', spec: SPEC,
    statement: 'package.json has no scripts that run during an installation.',
    why: 'Hosts never run them, and npm would.',
    cure: 'Remove them. Build before you pack.',
    check: ofPackageJson(({ scripts }) => {
      const found = names(scripts).filter((name) => SCRIPTS.has(name))
      return found.length === 0 ? undefined : `it has ${found.join(', ')}`
    }),
  },
  {
    id: 'package-dependencies', level: 'must', spec: SPEC,
    statement: 'The package contains all code that it uses.',
    why: 'A compartment can import nothing else, and hosts install no dependencies.',
    cure: 'Run "bulkhead pack": it bundles dependencies. Move them to devDependencies.',
    check: ofPackageJson(({ dependencies }) => names(dependencies).length === 0
      ? undefined : `package.json has dependencies: ${names(dependencies).slice(0, 5).join(', ')}`),
  },
  {
    id: 'package-repository', level: 'should', spec: SPEC,
    statement: 'package.json names the repository.',
    why: 'People look there before they trust a package, and provenance is bound to it.',
    cure: 'Add "repository" to package.json.',
    check: ofPackageJson(({ repository }) => repository === undefined ? 'there is no repository' : undefined),
  },
  {
    id: 'package-module', level: 'must', spec: SPEC,
    statement: 'package.json has "type": "module" if main ends with .js.',
    why: 'Other tools would read the module as CommonJS.',
    cure: 'Add "type": "module" to package.json.',
    check: ofPackageJson(({ type }, { extension: { manifest: { main } } }) =>
      type === 'module' || main.endsWith('.mjs') ? undefined : `"type" is ${JSON.stringify(type ?? null)}`),
  },
  {
    id: 'package-size', level: 'should', spec: SPEC,
    statement: `The package has at most ${MOST_BYTES / MEGABYTE} MB.`,
    why: 'Every host verifies all of it.',
    cure: 'Leave out tests, fixtures and source maps: list "files" in package.json.',
    check: ({ files }) => {
      const bytes = files.values().reduce((sum, { length }) => sum + length, 0)
      return bytes <= MOST_BYTES ? undefined : `it has ${Math.ceil(bytes / MEGABYTE)} MB`
    },
  },
  {
    id: 'package-files', level: 'should', spec: SPEC,
    statement: `The package has at most ${MOST_FILES} files.`,
    why: 'People review packages file by file.',
    cure: 'Bundle the code, and list "files" in package.json.',
    check: ({ files }) => files.size <= MOST_FILES ? undefined : `it has ${files.size} files`,
  },
  {
    id: 'package-tests', level: 'should', spec: SPEC,
    statement: 'The package has no tests.',
    why: 'They are never run from a package.',
    cure: 'List "files" in package.json without them.',
    check: (facts) => firstFile(facts, (path) =>
      /(?:^|\/)(?:tests?|__tests__)\/|\.(?:test|spec)\.[cm]?[jt]s$/.test(path)),
  },
  {
    id: 'package-native', level: 'must', spec: SPEC,
    statement: 'The package has no native code or other program.',
    why: 'A compartment cannot load it, and a reader cannot review it.',
    cure: 'Use a build of the library in JavaScript or WebAssembly.',
    check: (facts) => firstFile(facts, (path, bytes) =>
      /\.(?:node|so|dylib|dll|exe)$/.test(path) || (bytes[0] === 0x7F && bytes[1] === 0x45 && bytes[2] === 0x4C)),
  },
  {
    id: 'package-known-files', level: 'should', spec: SPEC,
    statement: 'Each file has a known kind: code, data, documentation.',
    why: 'Archives and images hide what they contain.',
    cure: 'Leave the file out, or say in the README what it is for.',
    check: (facts) => firstFile(facts, (path) => !CODE.test(path)),
  },
  {
    id: 'package-credentials', level: 'must', spec: SPEC,
    statement: 'No file has a private key or an access token.',
    why: 'A published package is public for ever.',
    cure: 'Remove it from the package, and revoke it.',
    check: (facts) => firstFile(facts, (_, bytes) => CREDENTIALS.test(textOf(bytes))),
  },
  {
    id: 'package-machine-paths', level: 'should', spec: SPEC,
    statement: 'No file has a path of the machine it was built on.',
    why: 'It names a person, and the same build elsewhere differs.',
    cure: 'Build without absolute paths, for example without inline source maps.',
    check: (facts) => firstFile(facts, (path, bytes) => /\.(?:m?js|map|json)$/.test(path)
      && /(?:\/home\/|\/Users\/)[a-z][\w.-]*\//.test(textOf(bytes))),
  },
  {
    id: 'package-name', level: 'must', spec: SPEC,
    statement: 'package.json has a name that npm accepts.',
    why: 'A registry refuses the package otherwise.',
    cure: 'Use lower case, such as @you/weather.',
    check: ofPackageJson(({ name }) => typeof name === 'string' && NPM_NAME_PATTERN.test(name)
      && name.length <= NPM_NAME_CHARS
      ? undefined : `the name is ${JSON.stringify(name ?? null)}`),
  },
  {
    id: 'package-private', level: 'must', spec: SPEC,
    statement: 'package.json is not private.',
    why: 'npm refuses to publish it.',
    cure: 'Remove "private".',
    check: ofPackageJson((packageJson) => packageJson['private'] === true ? 'it has "private": true' : undefined),
  },
  {
    id: 'package-bin', level: 'must', spec: SPEC,
    statement: 'package.json has no commands.',
    why: 'npm would put them into the path of the user, outside every compartment.',
    cure: 'Remove "bin", or publish the command as another package.',
    check: ofPackageJson(({ bin }) => bin === undefined ? undefined : 'it has "bin"'),
  },
  {
    id: 'package-license-known', level: 'should', spec: SPEC,
    statement: 'The licence in package.json is an SPDX expression that lets others use it.',
    why: 'Programs check licences by this name.',
    cure: 'Use a name such as MIT or Apache-2.0.',
    check: ofPackageJson(({ license }) => license === undefined
      || (typeof license === 'string' && SPDX.test(license) && license !== 'UNLICENSED')
      ? undefined : `it is ${JSON.stringify(license)}`),
  },
  {
    id: 'package-hidden', level: 'must', spec: SPEC,
    statement: 'The package has no hidden files.',
    why: 'They often hold credentials and settings, and a reviewer does not see them.',
    cure: 'List "files" in package.json without them.',
    check: (facts) => firstFile(facts, (path) => /(?:^|\/)\.[^/]/.test(path)),
  },
  {
    id: 'readme-tools', level: 'should', spec: SPEC,
    statement: 'The README names each tool.',
    why: 'A person looks there for what the package offers.',
    cure: 'Describe each tool by its name.',
    check: ({ files, extension: { manifest: { tools } } }) => {
      const [, readme] = files.entries().find(([path]) => /^readme/i.test(path)) ?? []
      const missing = readme && tools.find(({ name }) => !textOf(readme).includes(name))
      return missing && `it does not name "${missing.name}"`
    },
  },
  {
    id: 'code-characters', level: 'must', spec: SPEC,
    statement: 'The code has no invisible characters and no marks of direction.',
    why: 'A reviewer sees other code than the one that runs.',
    cure: 'Write them as escapes, such as \\u202e.',
    check: (facts) => firstFile(facts, (path, bytes) => MODULE.test(path) && HIDDEN.test(textOf(bytes))),
  },
  {
    id: 'code-eval', level: 'should', spec: SPEC,
    statement: 'The code does not compile strings.',
    why: 'A reviewer cannot see what runs.',
    cure: 'Write the code as functions.',
    check: (facts) => firstFile(facts, (path, bytes) => MODULE.test(path)
      && /(?<![.\w$])eval\s*\(|\bnew\s+Function\s*\(/.test(textOf(bytes))),
  },
  {
    id: 'code-readable', level: 'should', spec: SPEC,
    statement: 'The code is not minified.',
    why: 'A reviewer cannot read it.',
    cure: 'Pack without a minifier.',
    check: (facts) => firstFile(facts, (path, bytes) => MODULE.test(path)
      && textOf(bytes).split('\n').some(({ length }) => length > LONG_LINE)),
  },
  {
    id: 'package-integrity', level: 'must', spec: SPEC,
    statement: 'The package has an integrity file, and it matches.',
    why: 'Hosts verify each byte against it.',
    cure: 'Run "bulkhead pack".',
    check: ({ extension: { integrity } }) => integrity === 'unpinned' ? 'nothing verifies its files' : undefined,
  },
  {
    id: 'package-provenance', level: 'should', spec: SPEC,
    statement: 'The package is signed.',
    why: 'An operator can then check who built it.',
    cure: 'Publish from CI with provenance, or sign the integrity file.',
    check: ({ extension: { integrity } }) => integrity === 'signed' ? undefined : 'it is not signed',
  },
  {
    id: 'provenance-repository', level: 'must', spec: SPEC,
    statement: 'A signed build comes from the repository that package.json names.',
    why: 'People review one repository, and would run the code of another one.',
    cure: 'Correct "repository" in package.json.',
    check: ofPackageJson(({ repository }, { extension: { signer } }) => {
      const named = isJsonObject(repository) ? repository['url'] : repository
      const built = signer?.repository
      return typeof named !== 'string' || !built || repositoryName(named) === repositoryName(built)
        ? undefined : `package.json names ${named}, and ${built} was built`
    }),
  },
]

/** Owner and name, for the forms that package.json allows. */
const repositoryName = (url: string): string =>
  url.toLowerCase().replace(/\.git$/, '').split(/[/:]/).filter((part) => part !== '').slice(-2).join('/')

const SPDX = /^\(?[A-Za-z0-9.+-]+(?: (?:OR|AND|WITH) \(?[A-Za-z0-9.+-]+\)?)*\)?$/
const MODULE = /\.m?js$/
/** A byte order mark is allowed at the beginning only. */
const HIDDEN = /[\u202A-\u202E\u2066-\u2069\u200B\u2060]|(?<=[\s\S])\uFEFF/
const LONG_LINE = 20_000

/** Private keys, and tokens of services that mark theirs. */
const CREDENTIALS =
  /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|\b(?:ghp|npm)_[A-Za-z0-9]{36}\b|\bsk-[\w-]{32,}/
