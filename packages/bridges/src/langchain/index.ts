export { toLangChainTools, type LangChainSession, type LangChainToolsOptions } from './langchain-tools.ts'
