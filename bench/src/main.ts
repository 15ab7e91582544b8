import { fileURLToPath } from 'node:url'
import { runCommand } from './command.ts'

process.exitCode = await runCommand(process.argv.slice(2), {
  subjects: {
    'bridges-list': async () => (await import('./subjects/bridges.ts')).bridgesList,
    'bridges-serve': async () => (await import('./subjects/bridges.ts')).bridgesServe,
    'bridges-start': async () => (await import('./subjects/bridges-start.ts')).bridgesStart,
    'code-mode': async () => (await import('./subjects/code-mode.ts')).codeMode,
    'code-mode-tokens': async () => (await import('./subjects/code-mode.ts')).codeModeTokens,
    'broker-read': async () => (await import('./subjects/broker-read.ts')).brokerRead,
    documents: async () => (await import('./subjects/documents.ts')).documents,
    'early-calls': async () => (await import('./subjects/early.ts')).earlyCalls,
    'first-answer': async () => (await import('./subjects/early.ts')).firstAnswer,
    'first-read': async () => (await import('./subjects/early.ts')).firstRead,
    fleet: async () => (await import('./subjects/fleet.ts')).fleet,
    'fleet-waiting': async () => (await import('./subjects/fleet.ts')).fleetWaiting,
    'fleet-sizes': async () => (await import('./subjects/fleet-sizes.ts')).fleetSizes,
    'host-audit': async () => (await import('./subjects/host-calls.ts')).hostAudit,
    'host-call': async () => (await import('./subjects/host-calls.ts')).hostCall,
    'host-session': async () => (await import('./subjects/host-fleet.ts')).hostSession,
    'host-start': async () => (await import('./subjects/host-fleet.ts')).hostStart,
    'host-tools': async () => (await import('./subjects/host-calls.ts')).hostTools,
    inspector: async () => (await import('./subjects/inspector.ts')).inspector,
    loader: async () => (await import('./subjects/loader.ts')).loader,
    'loader-warm': async () => (await import('./subjects/loader.ts')).loaderWarm,
    'sandbox-idle': async () => (await import('./subjects/sandbox-memory.ts')).sandboxIdle,
    'sandbox-large': async () => (await import('./subjects/sandbox-calls.ts')).sandboxLarge,
    'sandbox-memory': async () => (await import('./subjects/sandbox-memory.ts')).sandboxMemory,
    'sandbox-small': async () => (await import('./subjects/sandbox-calls.ts')).sandboxSmall,
    'sandbox-start': async () => (await import('./subjects/sandbox-start.ts')).sandboxStart,
    store: async () => (await import('./subjects/store.ts')).store,
    tools: async () => (await import('./subjects/tools.ts')).tools,
    'walls-command': async () => (await import('./subjects/walls.ts')).wallsCommand,
    'walls-hull': async () => (await import('./subjects/walls.ts')).wallsHull,
    'walls-read': async () => (await import('./subjects/walls.ts')).wallsRead,
  },
  latest: fileURLToPath(new URL('../latest.json', import.meta.url)),
  stdout: process.stdout,
  stderr: process.stderr,
})
// A failed side may keep the process alive. After success nothing may be left, so the process must end without this.
if (process.exitCode !== 0) process.exit()
