import { existsSync, statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { styleText } from 'node:util'
import {
  badgeOf, junitOf, reportLines, reportOf, sarifOf, SPECIFICATIONS, type Mark,
} from '@bulkhead/conformance'
import { EXTENSION_ID_PATTERN, MANIFEST_FILE, type ExtensionDescriptor } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { fixturesIn, inspectPackage, type Packed } from '@bulkhead/loader'
import { homeFolder } from '../../facade/folders.ts'
import { loaderOptions } from '../../facade/loader-options.ts'
import { CORE_VERSION } from '../../facade/version.ts'
import { commaSeparated, defineCommand, EVERY_OPTION, UsageError } from '../command.ts'
import { CONFIG_OPTION, readConfig } from './config-option.ts'
import { attest, readSigning } from './conformance-attest.ts'
import { removeUnused, type FixedExtension } from './conformance-fix.ts'
import { suiteProgress } from './conformance-progress.ts'
import { runSuite } from './conformance-run.ts'
import { printSpecification } from './conformance-specification.ts'
import { readInstalled } from './diff.ts'
import { isTarball, readExtensionFolder } from '../extension-source.ts'
import { COMMON_OPTIONS, refuseRoot, SOURCE_OPTIONS, type HostValues, type SourceValues } from '../host-options.ts'
import { printJson } from '../output.ts'
import { extensionLines, sourceCount } from '../review.ts'
import { replaceFile, writing } from '../write-file.ts'

export const conformance = defineCommand({
  usage: '(TARGET | --specification)',
  operands: { TARGET: { text: 'folder, tarball, or id of an installed extension', completes: 'folder' } },
  options: {
    only: { type: 'string', value: 'IDS', text: 'requirements or groups to check, with commas between them' },
    seed: {
      type: 'string', value: 'N', whole: { least: 0, most: 999_999_999 },
      text: 'repeat the generated arguments of an earlier run (default: 1)',
    },
    config: CONFIG_OPTION,
    budget: {
      type: 'string', value: 'SECONDS', whole: { least: 1, most: 99_999, unit: 'seconds' },
      text: 'how long to wait, in all, for calls that hang (default: 30); what is then not run is reported',
    },
    junit: { type: 'string', value: 'FILE', completes: 'file', text: 'write the results as JUnit XML' },
    sarif: {
      type: 'string', value: 'FILE', completes: 'file', text: 'write the results as SARIF 2.1.0, for code scanning',
    },
    badge: { type: 'string', value: 'FILE', completes: 'file', text: 'write an SVG for a README' },
    live: { type: 'boolean', text: 'use real hosts, commands, variables and secrets' },
    fix: { type: 'boolean', text: 'remove powers that no call used from the manifest of the folder' },
    attest: { type: 'boolean', text: 'sign the results, and write them to NAME-VERSION.conformance.json' },
    key: {
      type: 'string', value: 'FILE', completes: 'file',
      text: 'private key (PEM) to sign with (default: the identity of the CI job)',
    },
    specification: {
      type: 'string', value: 'NAME', values: SPECIFICATIONS.map(({ name }) => name),
      text: 'print what this host does of a specification, instead of checking an extension',
    },
    ...SOURCE_OPTIONS, ...COMMON_OPTIONS,
  },
  details: `For publishers. Verifies the extension as "pack" does, then starts and stops it, calls its tools with
arguments that are generated from their schemas, cancels calls, and compares the powers that it uses with those that
it declares. Nothing leaves this machine: tools see a temporary workspace and fake secrets, one server on this machine
answers for every host, and commands are recorded and not run. The folder "fixtures" of the extension gives tools files,
answers of hosts, commands, people and other tools, and values of secrets: docs/guides/conformance.md. "bulkhead check"
is the same command.

--live makes hundreds of calls with generated arguments to the real hosts and commands that the manifest declares, with
the values of its variables and secrets from the environment. The workspace is still a temporary one. Use it with
accounts and data that you can lose.

--fix removes whole entries only: patterns, hosts, commands, capabilities, variables, secrets, state. It never narrows a
pattern, and removes nothing from an extension that does not conform, whose calls may not have come to use everything.

--attest writes an in-toto statement about the package and its results, signed as a sigstore bundle: with --key, or with
the identity token of a CI job (GitHub Actions with the permission "id-token: write", or SIGSTORE_ID_TOKEN). A host with
policy.conformance requires such a file at installation.

--specification prints each requirement of grida, morphix, phi, steerable or stud, whether it holds, and the test that
proves it, or the reason why this host differs. It runs nothing. The page is docs/reference/specifications.md.

The JSON Schema of the JSON output is @bulkhead/contract/schema/conformance-report.schema.json.`,
  exits: ['if the extension conforms', 'if it does not'],
  examples: [
    { command: 'bulkhead conformance ./word-count', text: 'before you publish' },
    { command: 'bulkhead conformance ./word-count --only manifest,package', text: 'only what needs no run' },
    { command: 'bulkhead conformance ./word-count --junit report.xml', text: 'in CI' },
    { command: 'bulkhead conformance ./word-count --fix', text: 'remove powers that are not used' },
    { command: 'bulkhead conformance word-count-0.1.0.tgz --attest', text: 'sign the results, in CI' },
    { command: 'bulkhead conformance --specification grida', text: 'what this host does of a specification' },
  ],

  async run({ values, positionals: [target, ...more] }) {
    const { specification } = values
    if (specification !== undefined) {
      const others = Object.keys(values).filter((name) => !ALONE.has(name))
      if (target !== undefined || others.length > 0) {
        throw new UsageError('--specification takes no target and only --json.')
      }
      printSpecification(specification, values.json === true)
      return 0
    }
    if (target === undefined || more.length > 0) throw new UsageError('Name one folder, tarball or id.')
    const config = readConfig(values.config)
    const only = values.only === undefined ? undefined : commaSeparated(values.only)
    const { seed = 1, budget, live = false, fix = false, attest: attests = false } = values
    if (fix && only) throw new UsageError('--fix needs the whole suite. Leave out --only.')
    if (attests && (only || fix)) throw new UsageError('--attest needs the whole suite. Leave out --only and --fix.')
    if (values.key !== undefined && !attests) throw new UsageError('--key is for --attest.')
    const signing = attests ? readSigning(values.key, values.home) : undefined
    if (fix && statSync(target, { throwIfNoEntry: false })?.isDirectory() !== true) {
      throw new UsageError(`--fix changes the manifest in a folder, and "${target}" is not one.`)
    }
    const { extension, warnings, fixtures, ...packed } = await readTarget(target, values, config)
    const progress = suiteProgress()
    const { results, unused } = await runSuite({
      extension, warnings, config: config ?? {}, fixtures, live, seed, onProgress: progress.report,
      ...(only && { only }), ...(budget !== undefined && { budgetMs: budget * 1_000 }),
    }).finally(() => progress.end())
    const report = reportOf({ extension, hostVersion: CORE_VERSION, seed, results })
    const { junit, sarif, badge } = values
    if (junit !== undefined) writing(junit, () => replaceFile(resolve(junit), junitOf(results, report)))
    if (sarif !== undefined) {
      writing(sarif, () => replaceFile(resolve(sarif), sarifOf(results, report, placeOf(target))))
    }
    if (badge !== undefined) writing(badge, () => replaceFile(resolve(badge), badgeOf(report)))
    const { conforms } = report.summary
    if (values.json) printJson(report)
    else {
      process.stdout.write([
        ...sourceCount(packed), ...extensionLines(extension), '', ...reportLines(results, painted), '',
        conforms ? 'It conforms.' : 'It does not conform.', '',
      ].join('\n'))
    }
    if (signing !== undefined) {
      const file = await attest(report, target, signing)
      process[values.json ? 'stderr' : 'stdout'].write(`Wrote ${visibleText(file)}\n`)
    }
    if (fix) {
      const verify = (): Promise<unknown> => readExtensionFolder(target, values, config)
      const { manifest } = extension
      const nothing = ['--fix removed nothing: first correct the failures.']
      const lines = conforms ? await fixed(resolve(target), { manifest, unused }, verify) : nothing
      // The output of --json is one document.
      process[values.json ? 'stderr' : 'stdout'].write(lines.map((text) => `${text}\n`).join(''))
    }
    return conforms ? 0 : 1
  },
})

/** Options that --specification accepts beside it. */
const ALONE: ReadonlySet<string> = new Set(['specification', 'json', ...Object.keys(EVERY_OPTION)])

async function fixed(
  folder: string, extension: FixedExtension, verify: () => Promise<unknown>,
): Promise<readonly string[]> {
  const { file, removed, left } = await removeUnused(folder, extension, verify)
  const listed = (title: string, powers: readonly string[]): readonly string[] =>
    powers.length === 0 ? [] : [title, ...powers.map((text) => `  ${visibleText(text)}`)]
  const lines = [
    ...listed(`Removed from ${file}, because no call used it:`, removed),
    ...listed('No call used this, which the code declares. Remove it there:', left),
  ]
  return lines.length === 0 ? ['--fix: every power is used.'] : lines
}

interface Read extends Partial<Pick<Packed, 'sources' | 'root'>> {
  readonly extension: ExtensionDescriptor
  readonly warnings: readonly string[]
  readonly fixtures: Packed['fixtures']
}

/** A folder or file of that name comes first; any other name is an id. */
async function readTarget(
  given: string, values: HostValues & SourceValues, config: JsonObject | undefined,
): Promise<Read> {
  const found = EXTENSION_ID_PATTERN.test(given) && statSync(given, { throwIfNoEntry: false }) === undefined
  if (!found && !isTarball(given)) return readExtensionFolder(given, values, config)
  refuseRoot(values)
  if (found) return withFixtures({ extension: await readInstalled(given, values), warnings: [] })
  const { cache: _, ...options } = loaderOptions(homeFolder(values.home))
  return withFixtures(await inspectPackage(resolve(given), process.cwd(), options))
}

/** A package has fixtures only if its publisher lists them. */
async function withFixtures({ extension, warnings }: Omit<Read, 'fixtures'>): Promise<Read> {
  const { code } = extension
  return { extension, warnings, fixtures: code.kind === 'files' ? fixturesIn(await code.readFiles()) : new Map() }
}

/** The file that results are about, relative to the current folder: what a publisher edits. */
function placeOf(target: string): string {
  const files = [MANIFEST_FILE, 'package.json'].map((name) => join(target, name))
  const place = statSync(target, { throwIfNoEntry: false })?.isFile() ? target : files.find((file) => existsSync(file))
  return relative(process.cwd(), resolve(place ?? MANIFEST_FILE)).replaceAll('\\', '/')
}

const COLORS = { FAIL: 'red', warn: 'yellow', skip: 'dim', ok: 'green' } as const
const painted = (mark: Mark): string => styleText(COLORS[mark], mark)
