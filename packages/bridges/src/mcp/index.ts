export { McpServers, type McpServersOptions, type McpServerStatus, type Offered } from './connect/servers.ts'
export type { ServerState } from './connect/connection.ts'
export type { Surroundings } from './connect/target.ts'
