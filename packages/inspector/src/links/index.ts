export { ANSWER_PURPOSE, createAnswerLinks, type AnswerLinks, type AnswerLinksOptions } from './answer-links.ts'
export type { LinkedQuestion, LinkedQuestions } from './questions.ts'
