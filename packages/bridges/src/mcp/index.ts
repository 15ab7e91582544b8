export { McpServers, type McpServersOptions, type McpServerStatus, type ServerFault } from './connecting/servers.ts'
export type { FrameWatch, ServerFrame } from './connecting/frame-tap.ts'
export { loadLateCode } from './connecting/servers.ts'
export type { ReplicaRecords } from './serving/served-session.ts'
export type { ServerState } from './connecting/connection-state.ts'
export type { McpPrompt, McpResource } from './connecting/catalog/server-content.ts'
export type { McpEmbedder, McpRoot, SamplingRequest, SamplingResult } from './connecting/server-requests.ts'
export type { SignInPrompt } from './connecting/sign-in/sign-in.ts'
export type { ServerKeyUse, Surroundings } from '../connected/local-server.ts'
export type { ServedHost, ServedSession } from './serving/served-session.ts'
export type {
  PromptInfo, PromptSource, PromptText, ResourceContents, ResourceInfo, ResourceSource, ResourceTemplateInfo,
  SourceContext,
} from './serving/content-source.ts'
export type { TokenClient } from './serving/served-client.ts'
export {
  isToken, serveToolsOverHttp, type HttpServeOptions, type HttpServing,
} from './serving/http-server.ts'
export { serveTools, type ServeOptions, type Serving } from './serving/serve-tools.ts'
export { deliverOverMcp, type DeliveredCall, type EndedCall } from './serving/deliver.ts'
