"""Words that stand above the columns of a table: names of languages, source and target, text and label, in many
languages. To have another name recognised, add it to its line here; small letters, and _ for a space.
"""

import re
import unicodedata
from collections.abc import Sequence

# codes | names: the English one, its own, then those in other languages. Codes that are words, as so, are left out.
# All names of a language are on one line, as "German → Deutsch" is an example of a dictionary, and no header.
_LANGUAGES = """
af | afrikaans
| amharic አማርኛ
ar ara | arabic العربية عربي عربى عربية arabisch arabe árabe arabo arabski арабский арабська арапски arapça αραβικά 阿拉伯语 阿拉伯文 阿拉伯語 アラビア語 아랍어 ערבית अरबी อาหรับ ภาษาอาหรับ tiếng_ả_rập bahasa_arab
az | azerbaijani azərbaycanca азербайджанский
be | belarusian беларуская белорусский
bg | bulgarian български bulgarisch bulgare болгарский болгарська 保加利亚语
bn | bengali bangla বাংলা bengalisch бенгальский 孟加拉语 ベンガル語 벵골어 बंगाली
| tibetan བོད་སྐད་ 藏语 藏文
bs | bosnian bosanski
ca | catalan català catalán katalanisch
cs ces | czech čeština česky tschechisch tchèque checo ceco czeski чешский чеська çekçe τσεχικά 捷克语 捷克文 チェコ語 체코어
cy | welsh cymraeg
da | danish dansk dänisch danois danés датский 丹麦语 デンマーク語 덴마크어
de deu | german deutsch allemand alemán tedesco alemão duits niemiecki немецкий німецька almanca γερμανικά 德语 德文 德語 ドイツ語 독일어 الألمانية ألماني آلمانی גרמנית जर्मन เยอรมัน ภาษาเยอรมัน tiếng_đức bahasa_jerman tyska tysk saksa
el ell | greek ελληνικά griechisch grec griego greco grego grecki греческий грецька yunanca 希腊语 希臘語 ギリシャ語 그리스어 اليونانية یونانی יוונית यूनानी
en eng | english englisch anglais inglés inglese inglês engels angielski английский англійська ingilizce αγγλικά 英语 英文 英語 영어 الإنجليزية الانجليزية إنجليزي انگلیسی אנגלית अंग्रेज़ी अंग्रेजी อังกฤษ ภาษาอังกฤษ tiếng_anh bahasa_inggris engelska engelsk englanti angličtina angol engleză английски енглески
eo | esperanto
es spa | spanish español castellano spanisch espagnol spagnolo espanhol spaans hiszpański испанский іспанська ispanyolca ισπανικά 西班牙语 西班牙文 西班牙語 スペイン語 스페인어 الإسبانية الاسبانية اسپانیایی ספרדית स्पेनिश สเปน ภาษาสเปน tiếng_tây_ban_nha bahasa_spanyol spanska spansk
et | estonian eesti estnisch эстонский
eu | basque euskara
fa fas | persian farsi فارسی الفارسية persisch persan persa persiano персидский перська farsça περσικά 波斯语 波斯文 ペルシア語 ペルシャ語 페르시아어 פרסית फ़ारसी फारसी เปอร์เซีย
fi | finnish suomi finnisch finnois finlandés финский фінська 芬兰语 フィンランド語 핀란드어 finska
fr fra | french français französisch francés francese francês frans francuski французский французька fransızca γαλλικά 法语 法文 法語 フランス語 프랑스어 불어 الفرنسية فرنسي فرانسوی צרפתית फ़्रेंच फ्रेंच ฝรั่งเศส ภาษาฝรั่งเศส tiếng_pháp bahasa_prancis franska fransk ranska
ga | irish gaeilge
gl | galician galego
gu | gujarati ગુજરાતી
| hausa
he heb | hebrew עברית hebräisch hébreu hebreo ebraico hebraico hebrajski иврит ibranice εβραϊκά 希伯来语 希伯来文 ヘブライ語 히브리어 العبرية عبری हिब्रू ฮีบรู
hi hin | hindi हिन्दी हिंदी хинди гінді 印地语 印地文 ヒンディー語 힌디어 الهندية هندی הינדי ฮินดี ภาษาฮินดี tiếng_hindi hintçe
hr | croatian hrvatski kroatisch croate хорватский
hu | hungarian magyar ungarisch hongrois húngaro венгерский угорська 匈牙利语 ハンガリー語 헝가리어 macarca
hy | armenian հայերեն армянский
id | indonesian bahasa_indonesia indonesia indonesisch indonésien indonesio индонезийский 印尼语 印度尼西亚语 インドネシア語 인도네시아어 อินโดนีเซีย tiếng_indonesia
| igbo
is | icelandic íslenska isländisch исландский
it ita | italian italiano italienisch italien italiaans włoski итальянский італійська italyanca ιταλικά 意大利语 意大利文 義大利語 イタリア語 이탈리아어 الإيطالية الايطالية ایتالیایی איטלקית इतालवी อิตาลี ภาษาอิตาลี tiếng_ý bahasa_italia italienska italiensk
ja jpn | japanese 日本語 日语 日文 日語 japanisch japonais japonés giapponese japonês japans japoński японский японська japonca ιαπωνικά 일본어 اليابانية ژاپنی יפנית जापानी ญี่ปุ่น ภาษาญี่ปุ่น tiếng_nhật bahasa_jepang japanska japansk
ka | georgian ქართული грузинский
kk | kazakh қазақша қазақ казахский
km | khmer ខ្មែរ ភាសាខ្មែរ
| kannada ಕನ್ನಡ
ko kor | korean 한국어 한국말 조선말 koreanisch coréen coreano koreaans koreański корейский корейська korece κορεατικά 韩语 韩文 韓語 韓文 韓国語 朝鲜语 الكورية کره‌ای קוריאנית कोरियाई เกาหลี ภาษาเกาหลี tiếng_hàn bahasa_korea koreanska
| kurdish kurdî کوردی الكردية
la | latin latina lateinisch latein латинский латынь 拉丁语 ラテン語
| lao ລາວ
lt | lithuanian lietuvių litauisch литовский
lv | latvian latviešu lettisch латышский
mk | macedonian македонски
ml | malayalam മലയാളം
mn | mongolian монгол монгольский 蒙古语 蒙古文
mr | marathi मराठी
ms | malay bahasa_melayu melayu 马来语 マレー語 말레이어
mt | maltese malti
my | burmese မြန်မာ ဗမာ 缅甸语
ne | nepali नेपाली
nl nld | dutch nederlands niederländisch holländisch néerlandais neerlandés holandés olandese holandês niderlandzki нидерландский голландский нідерландська hollandaca felemenkçe ολλανδικά 荷兰语 荷兰文 荷蘭語 オランダ語 네덜란드어 الهولندية هلندی הולנדית
no | norwegian norsk norwegisch norvégien noruego норвежский норвезька 挪威语 ノルウェー語 노르웨이어
| punjabi ਪੰਜਾਬੀ
pl pol | polish polski polnisch polonais polaco polacco polonês pools польский польська lehçe polonyaca πολωνικά 波兰语 波兰文 ポーランド語 폴란드어 البولندية פולנית
| pashto پښتو
pt por | portuguese português portugiesisch portugais portugués portoghese portugees portugalski португальский португальська portekizce πορτογαλικά 葡萄牙语 葡萄牙文 葡萄牙語 葡语 ポルトガル語 포르투갈어 البرتغالية پرتغالی פורטוגזית पुर्तगाली โปรตุเกส tiếng_bồ_đào_nha
ro | romanian română românește rumänisch roumain rumano румынский румунська 罗马尼亚语 ルーマニア語 루마니아어 romence
ru rus | russian русский russisch russe ruso russo rosyjski російська rusça ρωσικά ρώσικα 俄语 俄文 俄語 ロシア語 러시아어 노어 الروسية روسي روسی רוסית रूसी รัสเซีย ภาษารัสเซีย tiếng_nga bahasa_rusia ryska руски
si | sinhala සිංහල
sk | slovak slovenčina slowakisch словацкий
sl | slovenian slovenščina slowenisch словенский
| somali
sq | albanian shqip albanisch албанский
sr | serbian srpski српски serbisch сербский
sv swe | swedish svenska schwedisch suédois sueco svedese zweeds szwedzki шведский шведська isveççe σουηδικά 瑞典语 瑞典文 スウェーデン語 스웨덴어 السويدية שוודית ruotsi
sw | swahili kiswahili суахили 斯瓦希里语
ta | tamil தமிழ் 泰米尔语
te | telugu తెలుగు
th tha | thai ไทย ภาษาไทย thailändisch thaï tailandés thailandese tailandês тайский тайська tayca 泰语 泰文 泰語 タイ語 태국어 التايلاندية थाई tiếng_thái bahasa_thailand
tl | tagalog filipino 他加禄语
tr tur | turkish türkçe türkisch turc turco turks turecki турецкий турецька τουρκικά 土耳其语 土耳其文 土耳其語 トルコ語 터키어 튀르키예어 التركية ترکی טורקית तुर्की ตุรกี tiếng_thổ_nhĩ_kỳ
uk ukr | ukrainian українська ukrainisch ukrainien ucraniano ucraino ukraiński украинский ukraynaca ουκρανικά 乌克兰语 乌克兰文 烏克蘭語 ウクライナ語 우크라이나어 الأوكرانية اوکراینی אוקראינית
ur | urdu اردو الأردية उर्दू 乌尔都语
uz | uzbek o'zbek oʻzbekcha узбекский
vi vie | vietnamese tiếng_việt vietnamesisch vietnamien vietnamita wietnamski вьетнамский в'єтнамська vietnamca 越南语 越南文 越南語 ベトナム語 베트남어 الفيتنامية ויאטנמית वियतनामी เวียดนาม ภาษาเวียดนาม bahasa_vietnam
xh | xhosa
yo | yoruba
zh zho | chinese mandarin 中文 汉语 漢語 华语 華語 国语 國語 普通话 简体中文 繁体中文 繁體中文 简体 繁體 中国語 中國語 중국어 chinesisch chinois chino cinese chinês chinees chiński китайский китайська çince κινεζικά الصينية صيني چینی סינית चीनी จีน ภาษาจีน tiếng_trung tiếng_hoa bahasa_mandarin kinesiska
zu | zulu
"""  # noqa: E501 - a line a language is easier to find

# source | target | text | label | what else stands beside them; English pairs are in columns.py
_FIELDS = """
source original | target translation | text sentence | label class category | note notes comment comments remark id idx
原文 源文 源语言 源语 源句 输入 问题 來源語言 源語言 輸入 問題 | 译文 翻译 目标语言 目标语 目标句 目标 输出 答案 回答 譯文 翻譯 目標語言 輸出 | 文本 句子 正文 内容 评论 內容 評論 | 标签 类别 分类 情感 標籤 類別 分類 | 备注 注释 说明 来源 序号 编号 備註 註釋 編號
原文 原言語 起点言語 入力 質問 | 訳文 翻訳 対訳 目的言語 目標言語 出力 回答 | テキスト 文章 本文 内容 | ラベル カテゴリ カテゴリー 分類 感情 | 備考 注釈 メモ 番号
원문 원본 출발어 소스 입력 질문 | 번역 번역문 도착어 타겟 출력 답변 | 텍스트 문장 본문 내용 | 라벨 레이블 분류 감정 | 비고 메모 번호
исходный исходный_текст исходник источник оригинал вход вопрос | перевод цель целевой выход ответ | текст предложение отзыв | метка класс категория тональность | примечание комментарий номер
джерело оригінал вхід питання запитання | переклад ціль вихід відповідь | текст речення відгук | мітка клас категорія | примітка коментар номер
πηγή πρωτότυπο είσοδος ερώτηση | στόχος μετάφραση έξοδος απάντηση | κείμενο πρόταση | ετικέτα κατηγορία | σημείωση σχόλιο
المصدر الأصل النص_الأصلي المدخل السؤال | الهدف الترجمة المخرج الجواب الإجابة | النص نص الجملة | التصنيف الفئة التسمية | ملاحظة ملاحظات
مبدأ منبع متن_اصلی ورودی پرسش سوال | مقصد هدف ترجمه خروجی پاسخ جواب | متن جمله | برچسب دسته | یادداشت توضیحات
מקור קלט שאלה | יעד תרגום פלט תשובה | טקסט משפט | תווית קטגוריה | הערה הערות
स्रोत मूल इनपुट प्रश्न | लक्ष्य अनुवाद आउटपुट उत्तर | पाठ वाक्य | लेबल श्रेणी | टिप्पणी
ต้นฉบับ ต้นทาง คำถาม | คำแปล ปลายทาง คำตอบ | ข้อความ ประโยค | ป้ายกำกับ หมวดหมู่ | หมายเหตุ
quelle original ausgangstext eingabe frage | ziel übersetzung zieltext ausgabe antwort | text satz | etikett klasse kategorie stimmung | bemerkung anmerkung notiz kommentar nummer
source original entrée question | cible traduction sortie réponse | texte phrase avis | étiquette classe catégorie sentiment | remarque note commentaire numéro
fuente origen original entrada pregunta | objetivo destino traducción salida respuesta | texto frase oración reseña | etiqueta clase categoría sentimiento | nota comentario número
originale origine ingresso domanda | traduzione destinazione uscita risposta | testo frase recensione | etichetta classe categoria | nota commento numero
original origem entrada pergunta | tradução destino alvo saída resposta | texto frase avaliação | rótulo classe categoria sentimento | nota comentário número
źródło oryginał wejście pytanie | cel tłumaczenie wyjście odpowiedź | tekst zdanie | etykieta klasa kategoria | uwaga uwagi numer
kaynak girdi soru | hedef çeviri çıktı cevap yanıt | metin cümle | etiket sınıf kategori | açıklama
nguồn bản_gốc đầu_vào câu_hỏi | đích bản_dịch đầu_ra câu_trả_lời | văn_bản câu | nhãn | ghi_chú
sumber masukan pertanyaan | sasaran terjemahan keluaran jawaban | teks kalimat | label kelas kategori | catatan
"""  # noqa: E501

_MARKS = re.compile("[\u0300-\u036f]")
_ENDS, _NOTHING = ".?!…。？！؟।", {"n/a", "na", "nan", "none", "null", "unknown"}
_PARTS = re.compile(r"[_()]+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]{6}")


def plain(name: str) -> str:
    """In small letters without accents, _ for spaces: Francais is written for Français, and ΑΓΓΛΙΚΑ for Αγγλικά."""
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", name.casefold()))
    return "_".join(unicodedata.normalize("NFC", bare).split())


_LINES = [line.split("|") for line in _LANGUAGES.strip().splitlines()]
_CODES = {code: names.split()[0] for codes, names in _LINES for code in codes.split()}
_NAMES = {plain(name): names.split()[0] for _, names in _LINES for name in names.split()}
_ROLES = [
    tuple(frozenset(map(plain, words.split())) for words in line.split("|")) for line in _FIELDS.strip().splitlines()
]
_KNOWN = frozenset().union(*(words for roles in _ROLES for words in roles))
_TEXTS = frozenset().union(*(words for roles in _ROLES for words in roles[:3]))
_LABELS = frozenset({"label", "labels", "class", "category", "intent", "sentiment", "tag"}).union(
    *(roles[3] for roles in _ROLES)
)
SOURCE_TARGET, TEXT_LABEL, TEXT = (0, 1), (2, 3), (2,)


def fields(names: Sequence[str], roles: Sequence[int]) -> tuple[int, ...] | None:
    """Where such words stand, all of them of one language. roles: columns of the list above."""
    cells = list(map(plain, names))
    for line in _ROLES:
        found = [next((at for at, cell in enumerate(cells) if cell in line[role]), None) for role in roles]
        if all(at is not None for at in found):
            return tuple(at for at in found if at is not None)
    return None


def is_label(name: str) -> bool:
    """Whether it says, in any language, that labels stand below it."""
    return plain(name) in _LABELS


def languages(cells: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str | None]:
    """Which language each cell names, by English, German sentences; or, above sentences, by en and de_DE.

    rows: those behind it. Above single words, it and es may be such words.
    """
    sentences = sum(any(map(_is_sentence, row)) for row in rows) * 2 > len(rows)
    return [_language(plain(cell)) or (_coded(plain(cell)) if sentences else None) for cell in cells]


def are_names(cells: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Every cell names another language. Or some do, and the others are words of the lists, or beside two languages
    any words, and none stands again below.

    Not so where another row names languages too: then it is a list of them.
    """
    found = languages(cells, rows)
    others = [cell for cell, name in zip(cells, found, strict=True) if not name]
    known = all(plain(cell) in _KNOWN for cell in others)
    if not rows or not _apart(found) or not (known or (len(cells) - len(others) > 1 and all(map(wordy, others)))):
        return False
    return (not others or alone(cells, rows)) and not any(_all_languages(row) for row in _unlike(cells, rows))


def alone(cells: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """There are rows, and no cell stands in its column again, as a label would."""
    return bool(rows) and not any(
        cell == below for row in _unlike(cells, rows) for cell, below in zip(cells, row, strict=True)
    )


def _unlike(cells: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Without the same names again, where files were put one behind the other."""
    return [row for row in rows if list(row) != list(cells)]


def wordy(name: str) -> bool:
    """It could be the name of a column: a few words, neither a sentence nor what stands for nothing."""
    low = name.strip().lower()
    return any(map(str.isalpha, low)) and len(low.split()) <= 4 and low[-1] not in _ENDS and low not in _NOTHING


def _all_languages(row: Sequence[str]) -> bool:
    found = [_language(plain(cell)) for cell in row]
    return all(found) and _apart(found)


def _apart(found: Sequence[str | None]) -> bool:
    names = [name for name in found if name]
    return bool(names) and len(found) > 1 and len(set(names)) == len(names)


def _language(name: str) -> str | None:
    if name in _NAMES:
        return _NAMES[name]
    parts = [part for part in _PARTS.split(name) if part]
    if len(parts) == 2:
        return _NAMES.get(parts[0]) or (_NAMES.get(parts[1]) if parts[0] in _TEXTS else None)
    # where no space is written: 英文句子
    ends = (name.removesuffix(word) for word in _TEXTS if not word.isascii() and name.endswith(word))
    return next((_NAMES[rest] for rest in ends if rest in _NAMES), None)


def _coded(name: str) -> str | None:
    return None if name in _KNOWN else _CODES.get(name.replace("-", "_").partition("_")[0])


def _is_sentence(cell: str) -> bool:
    return len(cell.split()) > 2 or _UNSPACED.search(cell) is not None
