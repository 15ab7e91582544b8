import type { McpPrompt, McpResource, McpServerStatus } from '@bulkhead/bridges/mcp'
import { requireOptions } from '@bulkhead/contract'
import { forms } from '@bulkhead/kit/options'
import type { ConnectedServers } from './connected-servers.ts'

/** The MCP servers of the configuration. */
export interface McpBook {
  /** Lists the servers without connecting to them. */
  servers(): readonly McpServerStatus[]
  /**
   * Connects to the named servers (default: all). Resolves when each has answered or failed, and its tools are loaded.
   */
  connect(names?: readonly string[]): Promise<readonly McpServerStatus[]>
  /** The known resources of connected or cached servers. Read them with the tool `<server>_read_resource`. */
  resources(): readonly (McpResource & { readonly server: string })[]
  /** The known prompts of connected or cached servers. Get them with the tool `<server>_get_prompt`. */
  prompts(): readonly (McpPrompt & { readonly server: string })[]
  /**
   * Signs a person in to a remote server with OAuth: `show` gets the address to open in a browser. Resolves when the
   * tokens are stored in the home and the tools are loaded. Rejects with SignInFailed.
   */
  login(name: string, options: LoginOptions): Promise<void>
  /** Deletes the tokens for a server. Resolves to whether there were any. */
  logout(name: string): Promise<boolean>
}

export interface LoginOptions {
  /** Called with the address of the sign-in page. */
  show(url: URL): void
  /** The port on 127.0.0.1 that the browser is redirected to. Default: any. */
  readonly port?: number
  /** Ends the wait for the person. Default: after five minutes. */
  readonly signal?: AbortSignal
}

/** How long a person has to sign in. */
const LOGIN_MS = 5 * 60_000

const CONNECTED = { names: forms.list(forms.text) }
const LOGIN = { name: forms.text, show: forms.method, port: forms.count(0, 65_535), signal: forms.signal }
const NAMED = { name: forms.text }

/** `servers` returns those of the current workspace. */
export const mcpBook = (servers: () => ConnectedServers): McpBook => ({
  servers: () => servers().status,
  async connect(names) {
    requireOptions('mcp.connect', { names }, CONNECTED)
    return servers().connect(names)
  },
  resources: () => [...servers().contents].flatMap(([server, { resources = [] }]) =>
    resources.map((resource) => ({ server, ...resource }))),
  prompts: () => [...servers().contents].flatMap(([server, { prompts = [] }]) =>
    prompts.map((prompt) => ({ server, ...prompt }))),
  async login(name, options) {
    requireOptions('mcp.login', { name, ...options }, LOGIN, 'name', 'show')
    const { show, port, signal = AbortSignal.timeout(LOGIN_MS) } = options
    return servers().signIn(name, { show: (url) => show(url), port, signal })
  },
  async logout(name) {
    requireOptions('mcp.logout', { name }, NAMED, 'name')
    return servers().signOut(name)
  },
})
