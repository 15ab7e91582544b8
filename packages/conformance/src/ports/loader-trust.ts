import type { ConnectedExtension, Layer, LoadReport, TrustStatus } from '@bulkhead/contract'
import { join } from 'node:path'
import { filesOf, manifestOf, toolOf, writePackage, writeText } from './example-packages.ts'
import { loadedIn, loaderBench, type LoaderTarget } from './loader-place.ts'
import { groupOf, observed, settle, type Bench } from './verify.ts'

async function observeTrust(target: LoaderTarget, bench: Bench) {
  const { project, workspace, load, start } = await loaderBench(target, bench)
  await writePackage(project, 'local', filesOf(manifestOf('local')))
  await writeText(join(project, 'config.json'), JSON.stringify({ mode: 'yolo' }))
  /** Asked of a new loader, as after a restart. */
  const status = async (): Promise<TrustStatus> => (await (await start()).trust.status(workspace)).status
  const declined = await load('declined')
  const before = await status()
  const loader = await start()
  const decision = await loader.trust.decide(workspace, 'trusted')
  const measured = await loader.trust.measure(workspace)
  const withDigest = (): Promise<LoadReport> => loader.load({ workspace, trust: 'trusted', projectDigest: measured })
  const after = await status()
  const trusted = await withDigest()
  await writeText(join(project, 'tools/local/index.js'), 'export default { tools: { other: {} } }\n')
  const changed = await status()
  const changedLoad = await withDigest()
  await loader.trust.decide(workspace, 'once')
  const takenUp = [await loader.trust.takeUp(workspace), await (await start()).trust.takeUp(workspace)]
  await loader.trust.decide(workspace, 'trusted')
  await loader.trust.decide(workspace, 'revoked')
  const revoked = await status()
  return { declined, before, decision, measured, after, trusted, changed, changedLoad, takenUp, revoked }
}

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
    check: ({ changed, changedLoad }) => hasLocal(changedLoad) ? 'it was loaded'
      : changed.kind === 'changed' ? undefined : `its status is ${changed.kind}`,
  },
  {
    id: 'loader-trust-once', level: 'must', spec: TRUST_SPEC,
    statement: 'A decision for one start is used up by one start.',
    why: 'Two starts would be one more than the person agreed to.',
    cure: 'Let takeUp return true for the first caller only, also between processes.',
    check: ({ takenUp: [first, second] }) => first && !second ? undefined : `takeUp returned ${first}, then ${second}`,
  },
  {
    id: 'loader-trust-revoked', level: 'must', spec: TRUST_SPEC,
    statement: 'A revoked decision does not apply any more.',
    why: 'A person changed their mind.',
    cure: 'Let the last decision on a project count.',
    check: ({ revoked }) => revoked.kind === 'unknown' ? undefined : `it is ${revoked.kind}`,
  },
])

async function observeWatch(target: LoaderTarget, bench: Bench) {
  const { home, workspace, start } = await loaderBench(target, bench)
  await writePackage(home, 'good', filesOf(manifestOf('good')))
  const request = { workspace, trust: 'trusted', projectDigest: 'any' } as const
  const loader = await start()
  const change = (text: string): Promise<void> => writeText(join(home, 'tools/good/index.js'), text)
  let calls = 0
  const changed = Promise.withResolvers<readonly Layer[]>()
  const stop = loader.watch(request, (layers) => {
    calls++
    changed.resolve(layers)
  })
  await change('export default 1\n')
  const { value: layers } = await settle(() => changed.promise, bench)
  stop()
  const before = calls
  // A second watcher shows when the first would have been called.
  const again = Promise.withResolvers<void>()
  const stopAgain = loader.watch(request, () => again.resolve())
  await change('export default 2\n')
  await settle(() => again.promise, bench)
  stopAgain()
  return { layers, late: calls - before }
}

export const WATCH = groupOf(observed(observeWatch), [
  {
    id: 'loader-watch', level: 'must', spec: 'docs/guides/lifecycle.md',
    statement: 'watch reports a changed file with its layer.',
    why: 'A host reloads what changed.',
    cure: 'Watch every file that a load would read.',
    check: ({ layers }) => layers === undefined ? 'it was not reported'
      : layers.includes('global') ? undefined : `it was reported for ${layers.join(', ') || 'no layer'}`,
  },
  {
    id: 'loader-watch-stops', level: 'must', spec: 'docs/guides/lifecycle.md',
    statement: 'watch calls back no more once it is stopped.',
    why: 'A closed host must not start extensions.',
    cure: 'Close the watchers, and drop changes that were collected.',
    check: ({ late }) => late > 0 ? `it called back ${late} times` : undefined,
  },
])

async function observeConnect(target: LoaderTarget, bench: Bench) {
  const { home, workspace, start } = await loaderBench(target, bench)
  await writePackage(home, 'good', filesOf(manifestOf('good')))
  const loader = await start()
  const before = await loader.load({ workspace, trust: 'trusted', projectDigest: 'any' })
  const invalid = { type: 'object', required: 7 } as never
  const tools = [toolOf('ship_go'), toolOf('ship_bad', { inputSchema: invalid }), toolOf('good_tool')]
  const names = new Map(tools.map(({ name }) => [name, name]))
  const server: ConnectedExtension = {
    layer: 'global', location: 'config.json', identity: '0'.repeat(128),
    definitions: new Map(tools.map(({ name }, index) => [name, `${index}`.repeat(128)])),
    server: { kind: 'mcp', name: 'ship', address: 'ship --serve', tools: names },
    manifest: manifestOf('mcp-ship', { tools }),
    module: (offered) => ({ tools: Object.fromEntries(offered.map((name) => [name, { execute: () => name }])) }),
  }
  const { value: after } = await settle(() => loader.connect(before, [server]), bench)
  return { before, after }
}

type ConnectFacts = Awaited<ReturnType<typeof observeConnect>>

const shipTools = ({ after }: ConnectFacts): string | undefined =>
  after?.extensions.find(({ id }) => id === 'mcp-ship')?.manifest.tools.map(({ name }) => name).join()

export const CONNECT = groupOf(observed(observeConnect), [
  {
    id: 'loader-connect', level: 'must', spec: 'docs/guides/mcp.md',
    statement: 'connect adds the tools of a server to a report, and keeps the extensions that were there.',
    why: 'Tools of servers pass the same checks as those of packages.',
    cure: 'Return a new report with one extension for each server.',
    check: (facts) => facts.after === undefined ? 'it did not resolve'
      : !loadedIn(facts.after).includes('global:good') ? 'an extension is gone'
        : shipTools(facts)?.includes('ship_go') ? undefined : 'the tool is missing',
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
