// `pnpm release --dry-run`: versions, changelogs, tarballs, SBOMs, provenance of the next release; publishes nothing.
// `pnpm release` publishes the tarballs too. Only .github/workflows/release.yml runs it: provenance needs its identity.
// Both need built packages (`pnpm build`), write to dist/release, and leave the rest of the workspace as it is.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { writeCoreVersion } from './release/core-version.mjs'
import { provenanceStatement } from './release/provenance.mjs'
import { checkTarball } from './release/tarball.mjs'
import { copyWorkspace, nameRepository, pendingChangesets, publishedPackages } from './release/workspace-copy.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const out = join(root, 'dist/release')
const { GITHUB_SERVER_URL, GITHUB_REPOSITORY, GITHUB_REF: ref, GITHUB_SHA } = process.env
const repository = GITHUB_REPOSITORY && `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`
const head = () => spawnSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).stdout?.trim()
const commit = GITHUB_SHA ?? (head() || 'unknown')
const { 'dry-run': dryRun = false } = parseArgs({ options: { 'dry-run': { type: 'boolean' } } }).values

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {string} cwd
 */
function run(command, args, cwd, env = process.env) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, env, encoding: 'utf8' })
  if (error) throw new Error(`${command} could not be started: ${error.message}`)
  if (status !== 0) throw new Error(`${command} ${args[0]} failed:\n${stdout}${stderr}`)
}

/**
 * changesets asks git about the copy, which is no repository. This answer is the same where git is not installed.
 * @param {string} copy
 * @returns {NodeJS.ProcessEnv}
 */
function withoutGit(copy) {
  const folder = join(copy, '.no-repository')
  mkdirSync(folder)
  writeFileSync(join(folder, 'git'), '#!/bin/sh\necho "fatal: not a git repository" >&2\nexit 128\n', { mode: 0o755 })
  return { ...process.env, PATH: `${folder}:${process.env['PATH']}` }
}

/**
 * A dry run packs every package. A release packs those whose version the registry does not have.
 * @param {string} copy
 * @returns {{ name: string, version: string, tarball: { path: string } }[]}
 */
function pack(copy) {
  const every = publishedPackages(copy)
    .map(({ name, version }) => ({ kind: 'publish', name, version, access: 'public', tag: 'latest' }))
  const plan = join(copy, 'plan.json')
  writeFileSync(plan, JSON.stringify({ version: 1, plan: [every] }))
  run('changeset', ['pack', '--out-dir', out, ...(dryRun ? ['--from-publish-plan', plan] : [])], copy)
  const packed = JSON.parse(readFileSync(join(out, 'publish-plan.json'), 'utf8'))
  return packed.plan.flat().filter((/** @type {{ kind: string }} */ { kind }) => kind === 'publish')
}

/** @param {string} copy */
function writeSboms(copy) {
  const sbom = ['sbom', '--sbom-format', 'cyclonedx', '--prod', '--split', '--filter', './packages/*']
  run('pnpm', [...sbom, '--out', join(out, 'sbom/%s.json')], copy)
}

/**
 * Writes what accompanies a tarball, and prints what the checks found.
 * @param {{ name: string, version: string, tarball: { path: string } }} release
 * @param {string} versions
 * @param {string} changelog
 * @returns {Promise<boolean>} whether it passed
 */
async function check({ name, version, tarball: { path } }, versions, changelog) {
  const { summary, problems } = await checkTarball(join(out, path))
  const id = name.replace('@', '').replace('/', '-')
  const statement = provenanceStatement({ name, version }, readFileSync(join(out, path)), { repository, ref, commit })
  writeFileSync(join(out, `provenance/${id}.json`), `${JSON.stringify(statement, null, 2)}\n`)
  if (existsSync(changelog)) cpSync(changelog, join(out, `changelogs/${id}.md`))
  else problems.push('it has no CHANGELOG.md')
  const { components } = JSON.parse(readFileSync(join(out, `sbom/${id}.json`), 'utf8'))
  const mark = problems.length > 0 ? '✗' : '✓'
  console.log(`${mark} ${name} ${versions}: ${summary}, ${components.length} dependencies`)
  for (const problem of problems) console.log(`  - ${problem}`)
  return problems.length === 0
}

/**
 * @param {string} copy an empty folder
 * @returns {Promise<boolean>} whether every tarball passed
 */
async function prepare(copy) {
  const changesets = pendingChangesets(root).length
  if (changesets > 0 && !dryRun) {
    throw new Error(`${changesets} changesets are pending. Merge the release pull request first.`)
  }
  copyWorkspace(root, copy)
  if (changesets > 0) {
    run('changeset', ['version'], copy, withoutGit(copy))
    // The packages were built before they had this version.
    writeCoreVersion(join(copy, 'packages'))
  }
  if (repository) nameRepository(copy, repository)
  rmSync(out, { recursive: true, force: true })
  for (const name of ['changelogs', 'provenance']) mkdirSync(join(out, name), { recursive: true })
  writeSboms(copy)

  const before = new Map(publishedPackages(root).map(({ name, version }) => [name, version]))
  const folders = new Map(publishedPackages(copy).map(({ name, folder }) => [name, join(copy, folder)]))
  let passed = true
  for (const release of pack(copy)) {
    const { name, version } = release
    const versions = before.get(name) === version ? version : `${before.get(name)} → ${version}`
    passed = await check(release, versions, `${folders.get(name)}/CHANGELOG.md`) && passed
  }
  console.log(`\nChangesets: ${changesets}. Commit: ${commit}.`)
  console.log('Tarballs, changelogs, SBOMs and provenance: dist/release')
  return passed
}

/** pnpm signs the provenance with the identity of the workflow. Elsewhere it refuses to publish. */
function publish() {
  const env = { ...process.env, PNPM_CONFIG_PROVENANCE: 'true' }
  return spawnSync('changeset', ['publish', '--from-pack-dir', out], { cwd: root, env, stdio: 'inherit' }).status ?? 1
}

const copy = mkdtempSync(join(tmpdir(), 'bulkhead-release-'))
try {
  if (!await prepare(copy)) process.exitCode = 1
  else if (!dryRun) process.exitCode = publish()
  else console.log('Dry run: nothing was published, and the provenance is not signed.')
} catch (error) {
  console.error(`✗ ${/** @type {Error} */ (error).message}`)
  process.exitCode = 1
} finally {
  rmSync(copy, { recursive: true })
}
