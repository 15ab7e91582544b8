import type { ConnectedExtension, Layer, LoadReport, TrustStatus } from '@bulkhead/contract'
import { rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { firstOf } from '../requirement.ts'
import { filesOf, manifestOf, toolOf, writePackage, writeText } from './example-packages.ts'
import { loadedIn, loaderBench, type LoaderTarget } from './loader-place.ts'
import { groupOf, observed, settle, unlessSame, type Bench } from './verify.ts'

async function observeTrust(target: LoaderTarget, bench: Bench) {
  const { project, workspace, load, start } = await loaderBench(target, bench)
  await writePackage(project, 'local', filesOf(manifestOf('local')))
  await writeText(join(project, 'config.json'), JSON.stringify({ mode: 'yolo' }))
  /** Asked of a new loader, as after a restart. */
  const status = async (path = workspace): Promise<TrustStatus> =>
    (await (await start()).trust.status(path)).status
  const declined = await load('declined')
  const before = await status()
  const loader = await start()
  const { trust } = loader
  const withDigest = (projectDigest: string): Promise<LoadReport> =>
    loader.load({ workspace, trust: 'trusted', projectDigest })
  const decision = await trust.decide(workspace, 'trusted')
  const measured = await trust.measure(workspace)
  const after = await status()
  const trusted = await withDigest(measured)
  const changes: { readonly what: string; readonly kind: string; readonly isUsed: boolean }[] = []
  for (const [what, path, text] of CHANGES) {
    const { digest } = await trust.decide(workspace, 'trusted')
    const at = join(project, path)
    await (text === undefined ? rm(at) : writeText(at, text))
    changes.push({ what, kind: (await status()).kind, isUsed: hasLocal(await withDigest(digest!)) })
  }
  const ofEarlier: string[] = []
  for (const choice of ['trusted', 'once', 'declined'] as const) {
    await trust.decide(workspace, choice, measured)
    ofEarlier.push((await status()).kind)
  }
  await trust.decide(workspace, 'once')
  const starts = await Promise.all([start(), start(), start()])
  const takenUp = await Promise.all(starts.map((one) => one.trust.takeUp(workspace)))
  const inner = join(workspace, 'inner')
  await writePackage(join(inner, '.bulkhead'), 'local', filesOf(manifestOf('local')))
  const revoked: string[] = []
  const lists: (readonly string[])[] = []
  const list = async (): Promise<void> => void lists.push((await trust.list()).records
    .map(({ path, decision: latest }) => `${relative(workspace, path)} ${latest}`))
  for (const choice of ['declined', 'trusted'] as const) {
    await trust.decide(workspace, choice)
    await list()
    ofEarlier.push((await status(inner)).kind)
    await trust.decide(workspace, 'revoked')
    revoked.push((await status()).kind)
  }
  await trust.decide(inner, 'declined')
  await list()
  await trust.decide(workspace, 'trusted')
  await list()
  return { declined, before, decision, measured, after, trusted, changes, ofEarlier, takenUp, revoked, lists }
}

/** What is changed after a decision: a text is written to a path of the project, or its file is removed. */
const CHANGES: readonly (readonly [what: string, path: string, text?: string])[] = [
  ['code', 'tools/local/index.js', 'export default { tools: { other: {} } }\n'],
  ['a manifest', 'tools/local/bulkhead.json', JSON.stringify(manifestOf('local', { version: '1.0.1' }))],
  ['a new file', 'tools/local/lib/more.js', ''],
  ['a removed file', 'tools/local/lib/more.js'],
  ['a new extension', 'tools/other/bulkhead.json', JSON.stringify(manifestOf('other'))],
  ['a new configuration', 'config.json', JSON.stringify({ mode: 'ask' })],
  ['a removed configuration', 'config.json'],
]

const hasLocal = (report: LoadReport): boolean =>
  loadedIn(report).includes('project:local') || report.config.merged.mode === 'yolo'

const TRUST_SPEC = 'docs/explanation/security.md'
export const TRUST = groupOf(observed(observeTrust), [
  {
    id: 'loader-declined', level: 'must', spec: TRUST_SPEC,
    statement: 'Nothing of a declined project layer is used: no extension, no configuration.',
    why: 'A cloned repository must not change what an agent may do.',
    cure: 'Leave the layer out if the trust of the request is declined.',
    check: ({ declined }) =>
      hasLocal(declined) ? 'an extension or the configuration of the project was used' : undefined,
  },
  {
    id: 'loader-trust-recorded', level: 'must', spec: TRUST_SPEC,
    statement: 'A decision is unknown at first, is found by the next loader, and is bound to the content.',
    why: 'A person decides once, about content that they saw.',
    cure: 'Store the decision with the digest that `measure` returns, outside of the project.',
    check: ({ before, after, decision, measured, trusted }) => {
      if (before.kind !== 'unknown') return `it was ${before.kind} before`
      if (after.kind !== 'trusted') return `it is ${after.kind} afterwards`
      if (after.digest !== measured || decision.digest !== measured) return 'its digest is not that of the content'
      return hasLocal(trusted) ? undefined : 'the layer is not used with its own digest'
    },
  },
  {
    id: 'loader-trust-changed', level: 'must', spec: TRUST_SPEC,
    statement: 'A project that changed after the decision is not used.',
    why: 'No person has seen the new content.',
    cure: 'Measure at every load, and compare with the digest of the request.',
    check: ({ changes }) => firstOf(changes, ({ what, kind, isUsed }) => isUsed ? `it was loaded after ${what}`
      : kind === 'changed' ? undefined : `its status is ${kind} after ${what}`),
  },
  {
    id: 'loader-trust-scope', level: 'must', spec: TRUST_SPEC,
    statement: 'A decision covers the content that was seen, and no project inside of the project.',
    why: 'A project may change while a person reads it.',
    cure: 'Store the digest that `decide` is given, under the path of the workspace.',
    check: ({ ofEarlier }) => unlessSame(
      ofEarlier, ['changed', 'changed', 'changed', 'unknown', 'unknown'], 'the list of statuses',
    ),
  },
  {
    id: 'loader-trust-list', level: 'must', spec: TRUST_SPEC,
    statement: 'list has the latest decision on each project by path, unless it was revoked.',
    why: 'A person looks up what they decided.',
    cure: 'Read the record of decisions, and keep the last one of each path.',
    check: ({ lists }) => unlessSame(
      lists, [[' declined'], [' trusted'], ['inner declined'], [' trusted', 'inner declined']],
    ),
  },
  {
    id: 'loader-trust-once', level: 'must', spec: TRUST_SPEC,
    statement: 'A decision for one start is used up by one of several starts at once.',
    why: 'Two starts would be one more than the person agreed to.',
    cure: 'Let takeUp return true for the first caller only, also between processes.',
    check: ({ takenUp }) => unlessSame(takenUp.filter(Boolean).length, 1, 'the number of starts'),
  },
  {
    id: 'loader-trust-revoked', level: 'must', spec: TRUST_SPEC,
    statement: 'A revoked decision does not apply any more.',
    why: 'A person changed their mind.',
    cure: 'Let the last decision on a project count.',
    check: ({ revoked }) => firstOf(revoked, (kind) => unlessSame(kind, 'unknown')),
  },
])

/** What is changed while a loader watches: a text is written to a path of a layer, or its file or folder is removed. */
const WATCHED: readonly (readonly [layer: 'global' | 'project', path: string, text?: string])[] = [
  ['global', 'tools/good/index.js', 'export default 1\n'], ['global', 'tools/good/lib/deep/a.js', '2'],
  ['global', 'tools/new/bulkhead.json', JSON.stringify(manifestOf('new'))], ['global', 'tools/new'],
  ['global', 'config.json', '{"mode":"ask"}'], ['project', 'config.json', '{"mode":"ask"}'],
  ['project', 'tools/new/bulkhead.json', JSON.stringify(manifestOf('new'))], ['project', 'tools/new'],
]

async function observeWatch(target: LoaderTarget, bench: Bench) {
  const { home, project, workspace, start } = await loaderBench(target, bench)
  await writePackage(home, 'good', filesOf(manifestOf('good'), { 'lib/deep/a.js': '1' }))
  await writeText(join(project, 'tools', 'README.md'), 'Not a package.\n')
  const request = { workspace, trust: 'trusted', projectDigest: 'any' } as const
  const loader = await start()
  let calls = 0
  const reports: (readonly [what: string, expected: Layer, layers: readonly Layer[] | undefined])[] = []
  for (const [layer, path, text] of WATCHED) {
    const changed = Promise.withResolvers<readonly Layer[]>()
    const stop = loader.watch(request, (layers) => {
      calls++
      changed.resolve(layers)
    })
    const at = join(layer === 'global' ? home : project, path)
    await (text === undefined ? rm(at, { recursive: true }) : writeText(at, text))
    const { value: layers } = await settle(() => changed.promise, bench)
    reports.push([`${layer}: ${path}`, layer, layers])
    stop()
  }
  const before = calls
  // Another watcher shows when those before would have been called.
  const again = Promise.withResolvers<void>()
  const stopAgain = loader.watch(request, () => again.resolve())
  await writeText(join(home, 'tools/good/index.js'), 'export default 2\n')
  await settle(() => again.promise, bench)
  stopAgain()
  return { reports, late: calls - before }
}

export const WATCH = groupOf(observed(observeWatch), [
  {
    id: 'loader-watch', level: 'must', spec: 'docs/guides/lifecycle.md',
    statement: 'watch reports each change of a package or configuration with its layer.',
    why: 'A host reloads what changed.',
    cure: 'Watch every file and folder that a load would read.',
    check: ({ reports }) => firstOf(reports, ([what, layer, layers]) => unlessSame(layers, [layer], what)),
  },
  {
    id: 'loader-watch-stops', level: 'must', spec: 'docs/guides/lifecycle.md',
    statement: 'watch calls back no more once it is stopped.',
    why: 'A closed host must not start extensions.',
    cure: 'Close the watchers, and drop changes that were collected.',
    check: ({ late }) => late > 0 ? `it called back ${late} times` : undefined,
  },
])

const IDENTITY = 'f'.repeat(128)

async function observeConnect(target: LoaderTarget, bench: Bench) {
  const { home, workspace, start } = await loaderBench(target, bench)
  await writePackage(home, 'good', filesOf(manifestOf('good')))
  const loader = await start()
  const before = await loader.load({ workspace, trust: 'trusted', projectDigest: 'any' })
  const invalid = { type: 'object', required: 7 } as never
  const tools = [toolOf('ship_go'), toolOf('ship_bad', { inputSchema: invalid }), toolOf('good_tool')]
  const names = new Map(tools.map(({ name }) => [name, name]))
  const server: ConnectedExtension = {
    layer: 'global', location: 'config.json', identity: IDENTITY,
    definitions: new Map(tools.map(({ name }, index) => [name, `${index}`.repeat(128)])),
    server: { kind: 'mcp', name: 'ship', address: 'ship --serve', tools: names },
    manifest: manifestOf('mcp-ship', { tools }),
    module: (offered) => ({ tools: Object.fromEntries(offered.map((name) => [name, { execute: () => name }])) }),
  }
  const { value: after } = await settle(() => loader.connect(before, [server]), bench)
  return { before, after }
}

type ConnectFacts = Awaited<ReturnType<typeof observeConnect>>

const digestsOf = ({ after }: ConnectFacts): readonly unknown[] => {
  const { digests } = after?.extensions.find(({ id }) => id === 'mcp-ship') ?? {}
  return [digests?.package, digests?.tools.get('ship_go')]
}
const shipTools = ({ after }: ConnectFacts): string | undefined =>
  after?.extensions.find(({ id }) => id === 'mcp-ship')?.manifest.tools.map(({ name }) => name).join()

export const CONNECT = groupOf(observed(observeConnect), [
  {
    id: 'loader-connect', level: 'must', spec: 'docs/guides/mcp.md',
    statement: 'connect adds the tools of a server to a report, with their digests, and keeps the extensions.',
    why: 'Tools of servers pass the same checks as those of packages.',
    cure: 'Return a new report with one extension for each server. Its digests are its identity and its definitions.',
    check: (facts) => facts.after === undefined ? 'it did not resolve'
      : !loadedIn(facts.after).includes('global:good') ? 'an extension is gone'
        : !shipTools(facts)?.includes('ship_go') ? 'the tool is missing'
          : unlessSame(digestsOf(facts), [IDENTITY, '0'.repeat(128)], 'the list of digests'),
  },
  {
    id: 'loader-connect-faults', level: 'must', spec: 'docs/guides/mcp.md',
    statement: 'A tool of a server that is invalid, or whose name is taken, is left out with a diagnostic.',
    why: 'A server must not take a name from a package, nor lose all tools for one.',
    cure: 'Check each tool of a server separately.',
    check: (facts) => shipTools(facts) !== 'ship_go' ? `the tools are ${shipTools(facts) ?? 'missing'}`
      : (facts.after?.diagnostics.length ?? 0) > facts.before.diagnostics.length ? undefined : 'there is no diagnostic',
  },
])
