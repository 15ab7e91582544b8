export type { Offered } from '../connected/entries.ts'
export { describeDocument, type DescribedDocument, type DescribeOptions } from './describe-document.ts'
export { OpenapiDocuments, type OpenapiDocumentsOptions } from './documents.ts'
export { documentPool as documentThread } from './reading/document-pool.ts'
