import type { Mutant } from './mutant.ts'
import { MCP_CONNECTING } from './packages/bridges-mcp-connecting.ts'
import { MCP_SERVING } from './packages/bridges-mcp-serving.ts'
import { OPENAPI } from './packages/bridges-openapi.ts'
import { BRIDGES } from './packages/bridges.ts'
import { BROKER } from './packages/broker.ts'
import { BULKHEAD } from './packages/bulkhead.ts'
import { CONFORMANCE } from './packages/conformance.ts'
import { CONTRACT } from './packages/contract.ts'
import { HOST } from './packages/host.ts'
import { KIT } from './packages/kit.ts'
import { LOADER } from './packages/loader.ts'
import { PASSKEYS } from './packages/passkeys.ts'
import { SANDBOX } from './packages/sandbox.ts'
import { STORE } from './packages/store.ts'
import { TOOLS_BUNDLED_FILES } from './packages/tools-bundled-files.ts'
import { TOOLS_BUNDLED_PROMISES } from './packages/tools-bundled-promises.ts'
import { TOOLS_BUNDLED } from './packages/tools-bundled.ts'
import { WORKERS } from './packages/workers.ts'

/** One mutant for each named limit and for each promise of the documentation. */
export const MUTANTS: readonly Mutant[] = [
  ...MCP_CONNECTING, ...MCP_SERVING, ...OPENAPI, ...BRIDGES, ...BROKER, ...BULKHEAD, ...CONFORMANCE, ...CONTRACT,
  ...HOST, ...KIT, ...LOADER, ...PASSKEYS, ...SANDBOX, ...STORE, ...TOOLS_BUNDLED_FILES,
  ...TOOLS_BUNDLED_PROMISES, ...TOOLS_BUNDLED, ...WORKERS,
]
