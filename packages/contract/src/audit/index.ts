// What the audit says, for people: calls as rows, and the story of one call. A command and a page show the same.
export type { AuditChainReader } from './backwards.ts'
export { callRowOf, type AskedQuestion, type CallDecision, type CallRow, type CallState } from './call-row.ts'
export {
  readStory, storyOf, type CallChange, type CallName, type CallStory, type CallUsed, type KeySent, type StoryRecord,
} from './call-story.ts'
export { eventRowOf, wordsOf, type EventRow } from './event-row.ts'
export { readRows, type AuditTimelineRow, type RowFilter } from './read-rows.ts'
export { callKey, callKeyOf, placed, type PlacedRecord } from './records.ts'
export { byWords, cutText, resultWords, storyLines, type StoryLine } from './words.ts'
