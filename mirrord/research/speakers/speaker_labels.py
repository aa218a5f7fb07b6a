"""PURE: the speakers of a transcript, and which labels name one and which are captions, titles or roles."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from mirrord.domain.place import name_key


class Format(StrEnum):
    """The marks of speakers."""

    AUTO = "auto"
    COLON = "colon"
    BRACKET = "bracket"
    BRACE = "brace"


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a speaker: `text[start:end]`, without the name, blanks trimmed."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Detection:
    """
    The result for one text.

    format_used: the requested one, else the one with the most turns; None: there are no speakers.
    speakers: in the order of their first turns, spelled as there. occurrences: the number of turns of each.
    """

    format_used: Format | None
    speakers: tuple[str, ...]
    occurrences: Mapping[str, int]
    turns: tuple[Turn, ...]


def _keys_of(words: str) -> frozenset[str]:
    return frozenset(map(name_key, words.split()))


# A label that consists of one of these words is not a speaker's.
CAPTIONS = _keys_of(
    """
    avoid good bad takeaway takeaways consequence consequences impact deprecated note notes nb n.b. remark remarks
    comment comments warning caution important attention hint tip tips example examples question questions answer
    answers summary conclusion conclusions result results finding findings fact facts fiction truth abstract
    introduction background method methods methodology discussion appendix reference references source sources
    bibliography see contents index legend caption figure table image photo video audio definition definitions term
    terms theorem proof lemma claim idea ideas thesis argument objection premise theme segment code case memo quote
    quotes rule rules step steps exercise solution hypothesis context purpose goal goals aim aims objective
    objectives scope motivation problem problems issue issues cause causes effect effects pro pros con cons
    advantages disadvantages strengths weaknesses opportunities threats update updates edit title subtitle author
    authors editor publisher version status draft date dated time start end duration length begin place location
    venue address room city country present absent apologies attendees participants agenda minutes item items
    decision decisions action actions deadline due owner topic topics subject re fw fwd from to cc bcc sent received
    reply-to attachment attachments ps p.s. pps p.p.s. dear hi hello regards love yours sincerely name names age
    gender sex occupation profession education id no number nr ref file files url link links website email e-mail
    mail tel telephone phone mobile fax contact price prices cost total subtotal amount tax quantity keywords tags
    category categories type kind class language languages created updated modified reviewed approved reminder todo
    done task tasks open closed pending priority responsible recording transcript transcription transcriber
    transcribed session tape side part chapter section page volume line act scene setting characters monday tuesday
    wednesday thursday friday saturday sunday january february march july september october november december today
    tomorrow yesterday morning noon lunch afternoon evening night breakfast dinner serves servings yield prep
    ingredients preparation directions instructions equipment calories opening hours admission tickets seniors
    groups families bus train car parking info error errors debug trace fatal critical notice warn exception
    traceback try except else finally default public private protected return import output input usage options
    arguments parameters returns raises yields args http https ftp mailto localhost true false null none value key
    description port command anmerkung anmerkungen hinweis hinweise achtung wichtig beispiel frage antwort thema
    datum zeit uhrzeit ort dauer beginn ende quelle quellen fazit ergebnis ergebnisse zusammenfassung einleitung
    vermutung these folgerung betreff von an anlage anlagen anwesend abwesend teilnehmer teilnehmende protokoll
    beschluss aufgabe aufgaben frist termin titel autor stand seite kapitel teil abschnitt abbildung tabelle schritt
    regel ziel zutaten zubereitung tipp portionen preis telefon adresse kontakt siehe merke montag dienstag mittwoch
    donnerstag freitag samstag sonntag szene akt bemerkung nachtrag aufnahme alter beruf geschlecht und aber also
    kurz erstens zweitens remarque remarques exemple réponse sujet heure lieu durée début fin résumé résultat objet
    de à présents absents décision titre auteur chapitre partie tableau étape règle problème but ingrédients
    préparation conseil prix téléphone voir lundi mardi mercredi jeudi vendredi samedi dimanche scène acte matin
    midi soir nota notas atención importante ejemplo pregunta respuesta tema fecha hora lugar duración inicio fuente
    resumen conclusión resultado asunto presentes ausentes decisión acción título página capítulo parte figura tabla
    paso regla problema objetivo ingredientes preparación consejo precio teléfono dirección ver lunes martes
    miércoles jueves viernes sábado domingo escena acto mañana tarde noche atenção exemplo pergunta resposta assunto
    data local duração início fim fonte resumo conclusão decisão ação etapa regra preparo modo dica preço telefone
    endereço observação observações attenzione esempio domanda risposta oggetto ora luogo durata inizio fine
    riassunto not dikkat önemli örnek soru cevap konu tarih saat yer süre kaynak özet sonuç başlık sayfa bölüm şekil
    tablo adım uwaga ważne przykład pytanie odpowiedź temat godzina miejsce czas źródło wniosek wynik tytuł strona
    rozdział rysunek tabela krok składniki sposób adres opmerking belangrijk voorbeeld vraag antwoord onderwerp tijd
    plaats bron conclusie resultaat hoofdstuk stap ingrediënten bereiding примечание внимание важно пример вопрос
    ответ тема дата время место источник вывод результат итог автор страница глава рисунок таблица шаг задача цель
    адрес телефон σημείωση προσοχή παράδειγμα ερώτηση απάντηση θέμα ημερομηνία ώρα τόπος πηγή συμπέρασμα αποτέλεσμα
    τίτλος σελίδα κεφάλαιο βήμα 注 注意 备注 附注 例如 比如 问题 答案 主题 日期 时间 地点
    来源 结论 结果 总结 标题 作者 第一 第二 第三 他说 她说 備考 注記 例 質問 回答 日時
    場所 出典 結論 結果 要約 件名 著者 時間 日付 참고 주의 예 질문
    답변 날짜 시간 장소 ملاحظة تنبيه مثال سؤال جواب الموضوع التاريخ الوقت المكان
    المصدر الخلاصة النتيجة قال قالت left right top bottom front back up down north south east west center centre
    danger safety reading readings homework assignment assignments grade grades score scores team teams home away
    skills experience requirements benefits responsibilities qualifications salary hobbies interests chorus verse
    refrain bridge intro outro strophe strophen lyrics weather forecast temperature symptoms complaint complaints
    examination diagnosis therapy treatment prognosis verdict rating review reviews billed net gross payable vat
    sender recipient signature signed before after then later added fixed removed changed security reflection
    reflections mountains answered
    """
)

# A longer label that begins with one of these is no speaker's either: "Chapter 3", "Hi Ben", "In Berlin".
OPENINGS = _keys_of(
    """
    chapter section part figure fig. table step question answer day week month year session scene act appendix item
    article exercise lesson page line track phase stage version example rule case episode volume vol. tape side task
    option level round unit module topic theme point reason interview recording end start file class hi hello dear
    regards in on at of for from to by with without after before since until and or but if when while because
    although this that these those there here it we they he she you my our your his her their not no yes what who
    why how where which one two three four first second third finally also only today tomorrow re fw kapitel
    abschnitt teil abbildung tabelle schritt frage antwort tag woche folge szene akt hallo liebe lieber im am
    chapitre partie tableau étape jour semaine épisode scène acte bonjour cher chère en dans capítulo parte sección
    figura tabla paso pregunta día semana episodio escena acto hola querido querida estimado seção tabela etapa
    pergunta dia olá caro cara bölüm kısım şekil tablo adım soru gün hafta merhaba rozdział część rysunek krok
    pytanie dzień tydzień cześć hoofdstuk deel stap vraag глава часть рисунок таблица шаг вопрос день κεφάλαιο μέρος
    βήμα ερώτηση ημέρα
    """
)

# Words in brackets for a sound, a pause or a remark of the transcriber.
SOUNDS = _keys_of(
    """
    music applause laughter laughs laughing laugh crying cries sighs sigh coughs cough pause pauses silence
    inaudible unintelligible indistinct crosstalk overlap overlapping noise background sic break cut redacted
    unclear foreign cheering whispering whispers singing beep ringing door phone end start x ok musik applaus lachen
    lacht stille unverständlich husten rire rires musique applaudissements risas música silencio aplausos risos
    silêncio gülüşmeler müzik śmiech muzyka смех музыка пауза неразборчиво
    γέλια μουσική 笑 音乐 掌声 沉默 音楽 拍手 沈黙 ضحك
    موسيقى صمت
    """
)

# Roles in a conversation. A label with one of these is a speaker's.
ROLES = _keys_of(
    """
    interviewer interviewee moderator host cohost co-host guest speaker participant respondent facilitator
    researcher narrator witness court judge clerk reporter counsel attorney lawyer defendant plaintiff prosecutor
    chair chairman chairwoman chairperson president teacher student pupil doctor nurse patient therapist client
    coach caller operator agent customer user assistant audience all both everyone group man woman boy girl child
    mother father voice unknown unidentified announcer anchor panelist presenter producer observer translator
    interpreter candidate officer interviewerin interviewende befragte befragter moderatorin sprecher sprecherin
    erzähler erzählerin übersetzer übersetzerin teilnehmerin richter richterin zeuge zeugin lehrer lehrerin schüler
    schülerin alle enquêteur enquêtrice intervieweur intervieweuse animateur animatrice modérateur modératrice
    invité invitée témoin juge narrateur narratrice journaliste entrevistador entrevistadora entrevistado
    entrevistada moderadora participante presentador presentadora locutor testigo juez pesquisador pesquisadora
    mediador mediadora moderador görüşmeci moderatör katılımcı sunucu konuk badacz badaczka prowadzący prowadząca
    respondentka gość onderzoeker интервьюер респондент ведущий ведущая модератор участник участница корреспондент
    ερευνητής ερευνήτρια συντονιστής 采访者 受访者 主持人 记者 嘉宾 聞き手
    話し手 司会 記者 インタビュアー 인터뷰어 진행자 참가자 الباحث الباحثة المحاور
    المذيع người 면접자
    """
)

# Titles before a name.
HONORIFICS = _keys_of(
    """
    mr mrs ms miss mx dr prof sir madam lady lord judge justice officer sgt capt rev fr sr sra dra don dona doña dom
    herr frau hr fr. mme mlle m. mevr dhr pan pani bay bayan hanım г-н г-жа κ. κα dott sig sig.ra the
    """
)

# Pronouns of the first and second person, which show that people speak.
PERSONS = _keys_of(
    """
    i'm i'd i'll i've me my mine myself you you're you'd you'll you've your yours we we're we've we'll us our ours let's
    ich mich mir mein meine meinen meiner du dich dir dein deine sie ihnen ihr wir uns unser unsere euch
    je j'ai moi mon ma mes tu toi ton ta tes vous votre vos nous notre nos
    yo mi mis me conmigo tú te tu usted ustedes nosotros nuestro eu meu minha você vocês nós nosso io mio mia lei noi
    ik mij mijn jij jou uw wij ons jag mig min mitt du din vi oss jeg deg ja mnie mój moja ty pan pani my nas mi
    ben bana benim sen siz biz я меня мне мой моя ты вы вас вам ваш мы нас нам εγώ μου σου εσύ εσείς μας σας
    أنا أنت نحن أنتم אני אתה את אנחנו שלי tôi anh chị em 저 나 제가 제 우리 당신
    """
)

# Small words within a name.
PARTICLES = _keys_of(
    """
    van von der den de la le du des di da do dos das del della el al bin ibn ben y e i of the ter ten zu zur af av
    st
    """
)

_MAX_NAME_CHARACTERS = 40  # characters
_MAX_WORDS = 5
_MAX_IDEOGRAMS = 12  # characters of a name in a script without blanks
_FORBIDDEN_SIGNS = re.compile(r"[^\w\s.'’ʼ`´&/·・-]")  # signs that no name contains
_WORD = re.compile(r"[\s/&]+")
_CODE = re.compile(r"[^\W\d_]{1,3}[ .-]?\d{1,3}[a-z]?", re.IGNORECASE)  # P1, S 02
_SPOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_QUESTION_SIGNS = "?？؟;我你您咱俺私僕"  # the Greek question mark, and persons in scripts without blanks
_MAX_ABBREVIATION_CHARACTERS = 6  # characters of an abbreviation, with its dot


def may_be_name(name: str) -> bool:
    """Whether *name* may be the name of a speaker."""
    words = [word for word in _WORD.split(name) if word]
    if not words or len(name) > _MAX_NAME_CHARACTERS or len(words) > _MAX_WORDS or _FORBIDDEN_SIGNS.search(name):
        return False
    keys = [name_key(word) for word in words]
    if not words[0][0].isalpha() or name_key(name.rstrip(".")) in CAPTIONS or (keys[0] in CAPTIONS and len(words) == 1):
        return False
    if len(words) > 1 and (keys[0] in OPENINGS or all(key in CAPTIONS or key.isdigit() for key in keys)):
        return False
    if len(words) == 1:
        return _is_word(words[0]) or is_nickname(name)
    return not ROLES.isdisjoint(keys) or all(
        _is_word(word) or key in PARTICLES for word, key in zip(words, keys, strict=True)
    )


def is_personal(text: str) -> bool:
    """Whether the text asks a question, or uses the first or second person."""
    words = _SPOKEN.findall(text)
    return (
        any(sign in text for sign in _QUESTION_SIGNS)
        or "I" in words
        or any(name_key(word) in PERSONS for word in words)
    )


def is_sound(name: str) -> bool:
    """Whether *name* denotes a noise or a pause in a transcript."""
    return any(name_key(word) in SOUNDS for word in _WORD.split(name) if word)


def is_nickname(name: str) -> bool:
    """Whether *name* is one word in small letters, as names in chats are."""
    return name[:1].islower() and not any(sign.isspace() for sign in name)


def is_role(name: str) -> bool:
    """Whether a name alone identifies a speaker: by a role, a title, a number."""
    keys = {name_key(word.rstrip(".")) for word in _WORD.split(name) if word}
    return bool(keys & ROLES or keys & HONORIFICS) or bool(_CODE.fullmatch(name))


def _is_word(word: str) -> bool:
    """Whether *word* may be part of a name: capitalized, in a script without capitals, or a number."""
    if word.isdecimal():
        return len(word) <= 4
    if (word.endswith(".") and len(word) > _MAX_ABBREVIATION_CHARACTERS) or ".." in word:
        return False
    first = word[0]
    if not first.isalpha():
        return False
    if not (first.isupper() or first.islower() or first.istitle()):
        return len(word) <= _MAX_IDEOGRAMS
    return not first.islower()
