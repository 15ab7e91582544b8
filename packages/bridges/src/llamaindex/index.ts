export { toLlamaIndexTools, type LlamaIndexSession, type LlamaIndexToolsOptions } from './llamaindex-tools.ts'
